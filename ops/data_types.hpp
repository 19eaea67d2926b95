#pragma once
// What: the element types that operations take, as ops/op_list.inc lists them; their check before inference; and
// reference kernels for all of them.
#include <string_view>

#include "ir/schema/element_types.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// What a reference kernel does with packed integers and with floating-point types of a byte and less.
enum class Narrow {
  moved,    // it takes them as they are: it moves or converts elements, or looks at none
  widened,  // it has no code for them: it is given copies in i32 or f32, and its results are converted back, integers
            // modulo 2^N
  clamped   // the same, but integers saturate, as those that it has code for
};

/// The element type that the specification calls T.
struct DataTypes {
  /// A letter per input: T has the type, any other has one of its own, which the inference looks after; the letter
  /// before a * holds for all further inputs. A final >: the first output has the type, which an attribute names.
  /// "TT", ".TT", "T*", ">".
  std::string_view inputs;
  ir::ElementTypes allowed = ir::types::kAny;
  Narrow narrow = Narrow::widened;

  bool has(size_t input) const;
  bool names_output() const { return inputs.ends_with('>'); }
};

/// Of an operation of op_list.inc; of others: layers of libraries check their types and take them as they are, and what
/// devices make of operations has been checked before.
const DataTypes& data_types(const ir::OpSchema& schema);

/// The inference of every operation of op_list.inc: refuses types that data_types() does not allow, then infers as the
/// operation's definition says.
void infer_checked(ir::InferContext& ctx);

}  // namespace terroir::ops
