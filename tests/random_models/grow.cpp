#include "ir/base/error.hpp"
#include "tests/random_models/net.hpp"

namespace terroir::test {
namespace {

const Block& drawn_block(Net& net, const std::vector<Family>& families) {
  int64_t whole = 0;
  for (const Family& family : families)
    for (const Block& block : family.blocks) whole += block.weight * family.weight;
  int64_t at = net.between(0, whole - 1);
  for (const Family& family : families)
    for (const Block& block : family.blocks)
      if ((at -= block.weight * family.weight) < 0) return block;
  return families[0].blocks[0];
}

}  // namespace

void grow(Net& net, const std::vector<Family>& families, size_t layers) {
  const size_t wanted = net.layers() + layers;
  for (size_t attempts = 0; net.layers() < wanted && attempts < 20 + 6 * layers; ++attempts) {
    const Block& block = drawn_block(net, families);
    try {
      net.offer(block.grow(net, net.recent(block.min_rank, block.max_rank)));
    } catch (const Exception&) {  // does not fit
    }
  }
}

}  // namespace terroir::test
