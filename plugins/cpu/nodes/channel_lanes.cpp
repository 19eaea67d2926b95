#include "plugins/cpu/nodes/channel_lanes.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/copy/copy_rows.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Channels of a source that are channels of a destination.
struct Channels {
  size_t src, dst;  // which tensors
  int64_t src_begin, dst_begin, count;
};

/// Lanes of one block of a source that are lanes of one block of a destination.
struct Lanes {
  size_t src;
  int64_t src_block, src_lane, dst_lane, count;
};

class LaneCopyExecutor final : public Executor {
 public:
  LaneCopyExecutor(const std::vector<TensorDesc>& sources, const std::vector<TensorDesc>& destinations,
                   const std::vector<Channels>& channels, std::string name)
      : name_(std::move(name)) {
    const TensorDesc& first = destinations.front();
    block_ = first.layout.channel_block();
    element_ = static_cast<int64_t>(first.type.size());
    batch_ = first.dims[0];
    for (size_t axis = 2; axis < first.dims.size(); ++axis) positions_ *= first.dims[axis];
    for (const TensorDesc& source : sources) src_blocks_.push_back(ceil_div(source.dims[1], block_));
    std::vector<size_t> first_blocks;
    for (size_t dst = 0; dst < destinations.size(); ++dst) {
      first_blocks.push_back(blocks_.size());
      const int64_t blocks = ceil_div(destinations[dst].dims[1], block_);
      for (int64_t i = 0; i < blocks; ++i) blocks_.push_back({dst, i, blocks, {}});
    }
    for (const Channels& some : channels) add(some, first_blocks[some.dst]);
    chunks_ = std::max<int64_t>(1, ceil_div(positions_ * block_ * element_, kTaskBytes));
  }

  void run(const RunArgs& args) const noexcept override {
    const auto blocks = static_cast<int64_t>(blocks_.size());
    args.arena.parallel_for(batch_ * blocks * chunks_, [&](int64_t task) {
      const int64_t chunk = task % chunks_, n = task / chunks_ / blocks;
      const Block& block = blocks_[static_cast<size_t>(task / chunks_ % blocks)];
      const int64_t end = (chunk + 1) * positions_ / chunks_;
      for (int64_t p = chunk * positions_ / chunks_; p < end; p += kAtOnce)
        copy(args, block, n, p, std::min(kAtOnce, end - p));
    });
  }
  size_t table_bytes() const override {
    size_t bytes = blocks_.size() * sizeof(Block);
    for (const Block& block : blocks_) bytes += block.lanes.size() * sizeof(Lanes);
    return bytes;
  }
  std::string kernel_name() const override { return name_; }

 private:
  static constexpr int64_t kTaskBytes = 64 * 1024;
  /// Positions whose lines of the destination stay in L1 while one source after another is copied into them.
  static constexpr int64_t kAtOnce = 128;

  struct Block {
    size_t dst;
    int64_t index, blocks;  // in the destination
    std::vector<Lanes> lanes;
  };

  void add(Channels some, size_t first_block) {
    for (int64_t count; some.count > 0; some.src_begin += count, some.dst_begin += count, some.count -= count) {
      const int64_t src_lane = some.src_begin % block_, dst_lane = some.dst_begin % block_;
      count = std::min(some.count, block_ - std::max(src_lane, dst_lane));
      Block& block = blocks_[first_block + static_cast<size_t>(some.dst_begin / block_)];
      block.lanes.push_back({some.src, some.src_begin / block_, src_lane, dst_lane, count});
    }
  }

  void copy(const RunArgs& args, const Block& block, int64_t n, int64_t first, int64_t count) const noexcept {
    const auto place = [&](int64_t blocks, int64_t index) {
      return (((n * blocks + index) * positions_) + first) * block_ * element_;
    };
    char* const dst = static_cast<char*>(args.outputs[block.dst]) + place(block.blocks, block.index);
    const int64_t step = block_ * element_;
    int64_t filled = 0;
    for (const Lanes& lanes : block.lanes) {
      const auto* src = static_cast<const char*>(args.inputs[lanes.src]) +
                        place(src_blocks_[lanes.src], lanes.src_block) + lanes.src_lane * element_;
      copy_units(src, step, dst + lanes.dst_lane * element_, step, lanes.count * element_, count);
      filled += lanes.count;
    }
    // The padding of an activation is zero.
    static constexpr float kZeros[16] = {};
    if (filled < block_)
      copy_units(reinterpret_cast<const char*>(kZeros), 0, dst + filled * element_, step, (block_ - filled) * element_,
                 count);
  }

  std::string name_;
  int64_t block_ = 0, element_ = 4, batch_ = 0, positions_ = 1, chunks_ = 1;
  std::vector<int64_t> src_blocks_;
  std::vector<Block> blocks_;
};

}  // namespace

std::unique_ptr<const Executor> create_lane_concat(const TensorDesc& joined, const std::vector<TensorDesc>& parts) {
  std::vector<Channels> channels;
  int64_t begin = 0;
  for (size_t part = 0; part < parts.size(); begin += parts[part++].dims[1])
    channels.push_back({part, 0, 0, begin, parts[part].dims[1]});
  return std::make_unique<LaneCopyExecutor>(parts, std::vector{joined}, channels,
                                            concat("concat_lanes_", joined.layout.name()));
}

std::unique_ptr<const Executor> create_lane_split(const TensorDesc& joined, const std::vector<TensorDesc>& parts) {
  std::vector<Channels> channels;
  int64_t begin = 0;
  for (size_t part = 0; part < parts.size(); begin += parts[part++].dims[1])
    channels.push_back({0, part, begin, 0, parts[part].dims[1]});
  return std::make_unique<LaneCopyExecutor>(std::vector{joined}, parts, channels,
                                            concat("split_lanes_", joined.layout.name()));
}

}  // namespace terroir::cpu
