#pragma once
// What: the checks and readings of inputs that most inferences begin with. Every refusal names the input, what was
// expected and what was found.
#include <optional>
#include <vector>

#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// `axis` counted from the front; Exception naming `what` when it is outside [-rank, rank-1].
int64_t normalize_axis(int64_t axis, int64_t rank, const char* what = "axis");
/// As normalize_axis, for each.
std::vector<int64_t> normalize_axes(std::vector<int64_t> axes, int64_t rank, const char* what = "axes");
/// Exception unless `order` names each of `rank` axes once, counted from the front: a negative one is none.
void require_order(const std::vector<int64_t>& order, int64_t rank, const char* what);
/// Exception when a value occurs twice.
void require_unique(const std::vector<int64_t>& axes, const char* what = "axes");

/// The element type of the input must be an integer type, or not known yet.
void require_integer_type(const ir::InferContext& ctx, int input, const char* name);
void require_real_type(const ir::InferContext& ctx, int input, const char* name);
/// The rank of the input, where known, must lie in [min_rank, max_rank].
void require_rank(const ir::InferContext& ctx, int input, const char* name, int64_t min_rank, int64_t max_rank);
/// The one type of inputs a and b; Exception when they contradict.
element::Type merged_type(const ir::InferContext& ctx, int a, int b, const char* name_a, const char* name_b);

/// Exception when `count` positions, as far as that is known, are more than an output of this type can number.
void require_positions_fit(const ir::InferContext& ctx, element::Type type, const Dimension& count);

/// The value of an input of one element; empty when it is not known. Exception when it has another number of elements.
std::optional<int64_t> known_integer(ir::InferContext& ctx, int input, const char* name);
/// As known_integer, at run time.
int64_t read_integer(const ir::TensorView& tensor, const char* name);
/// The length of a 1-D input (1 for a scalar); empty when it is not known.
std::optional<int64_t> known_length(const ir::InferContext& ctx, int input);

/// Any extent from 0 to the upper bound of `extent`.
inline Dimension up_to(const Dimension& extent) { return {0, extent.get_max_length()}; }
/// The number of elements as a dimension; Exception when a known number does not fit 64 bits.
Dimension product(const std::vector<Dimension>& dims);
/// a * b; Exception when a known product does not fit 64 bits.
Dimension times(const Dimension& a, const Dimension& b);

/// a / b, rounded up.
inline int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
/// The extents q with q * divisor in `extent`; Exception that names the axis when there are none.
Dimension divided(const Dimension& extent, int64_t divisor, int64_t axis);

/// OpSchema::dimensions of ops that leave a list of numbers as it is (Reshape, Squeeze, Unsqueeze ...).
std::optional<std::vector<Dimension>> same_dimensions(ir::InferContext& ctx);

/// At run time: the output was planned with these extents, else Exception. Guards references against input values that
/// are not those inference saw.
void require_dims(const ir::MutableTensorView& output, const ir::Dims& wanted, const char* op);

}  // namespace terroir::ops
