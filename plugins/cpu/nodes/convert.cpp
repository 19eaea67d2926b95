// Convert between f32 and narrower floating-point types, and from integers to f32. Conversions to integers stay with
// the reference, which saturates. Layouts: plain. Threads: slices of the elements.
#include <algorithm>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/convert/convert.hpp"

namespace terroir::cpu {
namespace {

using ConvertFn = void (*)(const void* src, void* dst, int64_t n, const ConvertKernels& kernels);

/// One kernel behind a signature without types.
template <auto Member, class Src, class Dst>
void call(const void* src, void* dst, int64_t n, const ConvertKernels& kernels) {
  (kernels.*Member)(static_cast<const Src*>(src), static_cast<Dst*>(dst), n);
}

struct ConvertRow {
  element::Type_t from, to;
  ConvertFn run;
};
constexpr ConvertRow kRows[] = {
    {element::Type_t::f16, element::Type_t::f32, &call<&ConvertKernels::f16_to_f32, uint16_t, float>},
    {element::Type_t::f32, element::Type_t::f16, &call<&ConvertKernels::f32_to_f16, float, uint16_t>},
    {element::Type_t::bf16, element::Type_t::f32, &call<&ConvertKernels::bf16_to_f32, uint16_t, float>},
    {element::Type_t::f32, element::Type_t::bf16, &call<&ConvertKernels::f32_to_bf16, float, uint16_t>},
    {element::Type_t::u8, element::Type_t::f32, &call<&ConvertKernels::u8_to_f32, uint8_t, float>},
    {element::Type_t::i8, element::Type_t::f32, &call<&ConvertKernels::i8_to_f32, int8_t, float>},
    {element::Type_t::i32, element::Type_t::f32, &call<&ConvertKernels::i32_to_f32, int32_t, float>},
    {element::Type_t::i64, element::Type_t::f32, &call<&ConvertKernels::i64_to_f32, int64_t, float>},
};

const ConvertRow* row_of(const NodeContext& context) {
  for (const ConvertRow& row : kRows)
    if (context.inputs[0].type == row.from && context.outputs[0].type == row.to) return &row;
  return nullptr;
}

class ConvertExecutor final : public Executor {
 public:
  explicit ConvertExecutor(const NodeContext& context)
      : row_(*row_of(context)),
        kernels_(convert_kernels(context.isa)),
        count_(context.inputs[0].count()),
        src_bytes_(context.inputs[0].type.size()),
        dst_bytes_(context.outputs[0].type.size()),
        name_("convert_" + context.inputs[0].type.get_type_name() + "_" + context.outputs[0].type.get_type_name() +
              "__" + isa_name(context.isa)) {}

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 16384;
    args.arena.parallel_for((count_ + kTaskElements - 1) / kTaskElements, [&](int64_t task) {
      const int64_t begin = task * kTaskElements;
      row_.run(static_cast<const char*>(args.inputs[0]) + static_cast<size_t>(begin) * src_bytes_,
               static_cast<char*>(args.outputs[0]) + static_cast<size_t>(begin) * dst_bytes_,
               std::min(kTaskElements, count_ - begin), kernels_);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  const ConvertRow& row_;
  const ConvertKernels& kernels_;
  int64_t count_;
  size_t src_bytes_, dst_bytes_;
  std::string name_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (!row_of(context)) return Reject{"no kernel from " + src.type.get_type_name() + " to " + dst.type.get_type_name()};
  LayoutChoice choice;
  choice.inputs = {src.layout};
  choice.outputs = {dst.layout};
  choice.cost = stream_ns(static_cast<double>(src.bytes() + dst.bytes()));
  return std::vector{choice};
}

constexpr Impl kConvert[] = {
    {"convert", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<ConvertExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> convert_impls() { return kConvert; }

}  // namespace terroir::cpu
