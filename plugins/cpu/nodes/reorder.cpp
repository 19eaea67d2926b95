// Reorder: a tensor from one layout to another. Padding of the target is written as zero.
#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

/// Offsets in elements along one axis, for every logical index.
std::vector<int64_t> axis_offsets(const TensorDesc& desc, size_t axis) {
  const ir::Dims outer = desc.outer_strides();
  int64_t inner_stride = 1, block = 1;
  int64_t stride_of_block = 0;
  for (int i = 1; i >= 0; --i) {
    const Layout::Block& b = desc.layout.blocks()[static_cast<size_t>(i)];
    if (b.size == 0) continue;
    if (b.axis == static_cast<int>(axis)) {
      TERROIR_ASSERT(block == 1, axis);  // one block per axis
      block = b.size;
      stride_of_block = inner_stride;
    }
    inner_stride *= b.size;
  }
  std::vector<int64_t> offsets(static_cast<size_t>(desc.dims[axis]));
  for (int64_t i = 0; i < desc.dims[axis]; ++i)
    offsets[static_cast<size_t>(i)] = i / block * outer[axis] + i % block * stride_of_block;
  return offsets;
}

/// Any layout to any layout, any element of whole bytes.
template <class T>
void copy_elements(const TensorDesc& src_desc, const T* src, const TensorDesc& dst_desc, T* dst) {
  if (dst_desc.has_padding()) std::memset(dst, 0, dst_desc.bytes());
  const size_t rank = src_desc.dims.size();
  std::vector<std::vector<int64_t>> from, to;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (src_desc.dims[axis] == 0) return;
    from.push_back(axis_offsets(src_desc, axis));
    to.push_back(axis_offsets(dst_desc, axis));
  }
  std::vector<size_t> index(rank, 0);
  const size_t last = rank - 1;
  while (true) {
    int64_t s = 0, d = 0;
    for (size_t axis = 0; axis < last; ++axis) {
      s += from[axis][index[axis]];
      d += to[axis][index[axis]];
    }
    for (size_t i = 0; i < from[last].size(); ++i) dst[d + to[last][i]] = src[s + from[last][i]];
    size_t axis = last;
    while (axis > 0 && ++index[axis - 1] == from[axis - 1].size()) index[--axis] = 0;
    if (axis == 0) return;
  }
}

constexpr int64_t kMaxTasks = 64;

std::optional<ImageFormat> image_format(const Layout& layout) {
  if (layout.is_plain()) return ImageFormat::plain;
  if (layout.is_channels_last()) return ImageFormat::nhwc;
  return layout.channel_block() > 0 ? std::optional(ImageFormat::blocked) : std::nullopt;
}

/// The reorder as the vectorised kernel takes it: 4-byte elements between plain, channels-last and blocked.
std::optional<ReorderArgs> image_reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc,
                                         void* dst) {
  const auto from = image_format(src_desc.layout), to = image_format(dst_desc.layout);
  if (src_desc.type.bitwidth() != 32 || src_desc.rank() < 2 || !from || !to) return std::nullopt;
  int64_t spatial = 1;
  for (size_t i = 2; i < src_desc.dims.size(); ++i) spatial *= src_desc.dims[i];
  return ReorderArgs{static_cast<const float*>(src),
                     static_cast<float*>(dst),
                     src_desc.dims[0],
                     src_desc.dims[1],
                     spatial,
                     *from,
                     *to,
                     src_desc.layout.channel_block(),
                     dst_desc.layout.channel_block()};
}

class ReorderExecutor final : public Executor {
 public:
  ReorderExecutor(TensorDesc src, TensorDesc dst, Isa isa) : src_(std::move(src)), dst_(std::move(dst)), isa_(isa) {}
  void run(const RunArgs& args) const override {
    reorder(src_, args.inputs[0], dst_, args.outputs[0], isa_, &args.arena);
  }
  std::string kernel_name() const override {
    return "reorder_" + src_.layout.name() + "_" + dst_.layout.name() + "__" + isa_name(isa_);
  }

 private:
  TensorDesc src_, dst_;
  Isa isa_;
};

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<ReorderExecutor>(context.inputs[0], context.outputs[0], context.isa);
}

Proposal propose(const NodeContext& context) {
  const auto& attrs = context.node.attrs<ReorderAttrs>();
  LayoutChoice choice;
  choice.inputs = {attrs.from};
  choice.outputs = {attrs.to};
  return std::vector{choice};
}

constexpr Impl kReorder[] = {{"reorder", &propose, &create}};

}  // namespace

void reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc, void* dst, Isa isa,
             const parallel::Arena* arena) {
  if (src_desc.rank() == 0 || same_memory(src_desc, dst_desc)) {
    std::memcpy(dst, src, dst_desc.bytes());
    return;
  }
  if (const auto images = image_reorder(src_desc, src, dst_desc, dst)) {
    const ReorderKernels& kernels = reorder_kernels(isa);
    const int64_t items = kernels.items(*images);
    const int64_t tasks = std::min<int64_t>(items, kMaxTasks);
    const auto task = [&](int64_t i) { kernels.reorder(*images, items * i / tasks, items * (i + 1) / tasks); };
    if (arena)
      arena->parallel_for(tasks, task);
    else if (items > 0)
      kernels.reorder(*images, 0, items);
    return;
  }
  switch (src_desc.type.size()) {
    case 1:
      return copy_elements(src_desc, static_cast<const uint8_t*>(src), dst_desc, static_cast<uint8_t*>(dst));
    case 2:
      return copy_elements(src_desc, static_cast<const uint16_t*>(src), dst_desc, static_cast<uint16_t*>(dst));
    case 4:
      return copy_elements(src_desc, static_cast<const uint32_t*>(src), dst_desc, static_cast<uint32_t*>(dst));
    case 8:
      return copy_elements(src_desc, static_cast<const uint64_t*>(src), dst_desc, static_cast<uint64_t*>(dst));
    default:
      throw_error(ErrorCode::unsupported, "no reorder for elements of type ", src_desc.type.get_type_name());
  }
}

std::span<const Impl> reorder_impls() { return kReorder; }

}  // namespace terroir::cpu
