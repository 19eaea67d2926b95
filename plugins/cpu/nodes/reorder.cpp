// Reorder: a tensor from one layout to another. Padding of the target is written as zero.
#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/copy/copy_plan.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/kernels/reorder/streamed_results.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
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

bool is_unblocked(const Layout& layout) { return layout.blocks()[0].size == 0; }

/// A reorder with everything decided; run() allocates nothing where the kernel takes it.
class ReorderPlan {
 public:
  ReorderPlan(TensorDesc src, TensorDesc dst, Isa isa)
      : kernels_(reorder_kernels(isa)), src_(std::move(src)), dst_(std::move(dst)), bytes_(dst_.bytes()) {
    const auto from = image_format(src_.layout), to = image_format(dst_.layout);
    if (src_.rank() == 0 || same_memory(src_, dst_)) {
      how_ = How::copy;
    } else if (src_.type.bitwidth() == 32 && src_.rank() >= 2 && from && to) {
      how_ = How::kernel;
      int64_t spatial = 1;
      for (size_t i = 2; i < src_.dims.size(); ++i) spatial *= src_.dims[i];
      images_ = {nullptr,
                 nullptr,
                 src_.dims[0],
                 src_.dims[1],
                 spatial,
                 *from,
                 *to,
                 src_.layout.channel_block(),
                 dst_.layout.channel_block(),
                 is_streamed(static_cast<int64_t>(bytes_))};
    } else if (is_permutation() && is_bytewise(src_)) {
      how_ = How::permutation;
      add_permutations(isa);
    }
  }

  /// On the calling thread without an arena.
  void run(const void* src, void* dst, const parallel::Arena* arena) const {
    if (how_ == How::copy) {
      if (bytes_ > 0) std::memcpy(dst, src, bytes_);
    } else if (how_ == How::kernel) {
      ReorderArgs images = images_;
      images.src = static_cast<const float*>(src);
      images.dst = static_cast<float*>(dst);
      const int64_t items = kernels_.items(images), tasks = arena ? std::min<int64_t>(items, kMaxTasks) : 1;
      const auto task = [&](int64_t i) { kernels_.reorder(images, items * i / tasks, items * (i + 1) / tasks); };
      if (arena)
        arena->parallel_for(tasks, task);
      else
        task(0);
    } else if (how_ == How::permutation) {
      clear_padding(static_cast<char*>(dst));
      for (const CopyPlan& plan : permutations_) {
        const auto task = [&](int64_t i) { plan.run(i, src, dst, nullptr); };
        if (arena)
          arena->parallel_for(plan.tasks(), task);
        else
          for (int64_t i = 0; i < plan.tasks(); ++i) task(i);
      }
    } else {
      copy_any(src, dst);
    }
  }

 private:
  enum class How { copy, kernel, permutation, element_by_element };

  /// Of axes, and of channel blocks as axes, which one side has.
  bool is_permutation() const {
    const bool from = is_unblocked(src_.layout), to = is_unblocked(dst_.layout);
    return (from || src_.layout.channel_block() > 0) && (to || dst_.layout.channel_block() > 0) && (from || to);
  }

  /// Of whole blocks, and of the channels that fill none.
  void add_permutations(Isa isa) {
    const int64_t block = block_of_either(), rest = block > 0 ? src_.dims[1] % block : 0;
    if (rest < src_.dims[1] || block == 0) permutations_.push_back(permutation(isa, block, 0));
    if (rest > 0) permutations_.push_back(permutation(isa, rest, src_.dims[1] / block));
  }
  int64_t block_of_either() const { return std::max(src_.layout.channel_block(), dst_.layout.channel_block()); }

  /// `lanes` of each block from `first` on.
  CopyPlan permutation(Isa isa, int64_t lanes, int64_t first) const {
    const ir::Dims from = src_.outer_strides(), to = dst_.outer_strides();
    const auto bytes = static_cast<int64_t>(src_.type.size());
    const int64_t block = block_of_either();
    const auto step = [&](const TensorDesc& desc, const ir::Dims& steps) {  // of a lane
      return is_unblocked(desc.layout) ? steps[1] * bytes : bytes;
    };
    const auto next = [&](const TensorDesc& desc, const ir::Dims& steps) {  // of a block
      return steps[1] * bytes * (is_unblocked(desc.layout) ? block : 1);
    };
    std::vector<CopyAxis> axes;
    for (size_t i = 0; i < src_.dims.size(); ++i) {
      const auto axis = static_cast<size_t>(dst_.layout.order()[i]);
      const bool cut = block > 0 && axis == 1;
      if (!cut) {
        axes.push_back({src_.dims[axis], to[axis] * bytes, from[axis] * bytes});
        continue;
      }
      axes.push_back({lanes == block ? src_.dims[1] / block : 1, next(dst_, to), next(src_, from)});
      if (is_unblocked(dst_.layout)) axes.push_back({lanes, step(dst_, to), step(src_, from)});
    }
    if (!is_unblocked(dst_.layout)) axes.push_back({lanes, step(dst_, to), step(src_, from)});
    const int64_t src_begin = first > 0 ? first * next(src_, from) : 0,
                  dst_begin = first > 0 ? first * next(dst_, to) : 0;
    return CopyPlan(std::move(axes), bytes, src_begin, dst_begin, tile_kernels(isa));
  }

  /// The last block of each image.
  void clear_padding(char* dst) const {
    if (!dst_.has_padding()) return;
    const ir::Dims steps = dst_.outer_strides();
    const auto bytes = static_cast<int64_t>(dst_.type.size());
    for (int64_t n = 0; n < dst_.dims[0]; ++n)
      std::memset(dst + ((n + 1) * steps[0] - steps[1]) * bytes, 0, static_cast<size_t>(steps[1] * bytes));
  }

  void copy_any(const void* src, void* dst) const {
    switch (src_.type.size()) {
      case 1:
        return copy_elements(src_, static_cast<const uint8_t*>(src), dst_, static_cast<uint8_t*>(dst));
      case 2:
        return copy_elements(src_, static_cast<const uint16_t*>(src), dst_, static_cast<uint16_t*>(dst));
      case 4:
        return copy_elements(src_, static_cast<const uint32_t*>(src), dst_, static_cast<uint32_t*>(dst));
      case 8:
        return copy_elements(src_, static_cast<const uint64_t*>(src), dst_, static_cast<uint64_t*>(dst));
      default:
        throw_error(ErrorCode::unsupported, "no reorder for elements of type ", src_.type);
    }
  }

  const ReorderKernels& kernels_;
  TensorDesc src_, dst_;
  size_t bytes_;
  How how_ = How::element_by_element;
  ReorderArgs images_;
  std::vector<CopyPlan> permutations_;
};

class ReorderExecutor final : public Executor {
 public:
  ReorderExecutor(const TensorDesc& src, const TensorDesc& dst, Isa isa)
      : plan_(src, dst, isa), name_("reorder_" + src.layout.name() + "_" + dst.layout.name() + "__" + isa_name(isa)) {}
  void run(const RunArgs& args) const override { plan_.run(args.inputs[0], args.outputs[0], &args.arena); }
  std::string kernel_name() const override { return name_; }

 private:
  ReorderPlan plan_;
  std::string name_;
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

void reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc, void* dst, Isa isa) {
  ReorderPlan(src_desc, dst_desc, isa).run(src, dst, nullptr);
}

std::span<const Impl> reorder_impls() { return kReorder; }

}  // namespace terroir::cpu
