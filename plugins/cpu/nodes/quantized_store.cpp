#include "plugins/cpu/nodes/quantized_store.hpp"

namespace terroir::cpu {

StoreSteps::StoreSteps(const NodeContext& context, int64_t block) {
  const std::vector<FusedOp>& chain = chain_of(context.node);
  const ByteStore parts = byte_store_of(chain, is_quantized(context.node));
  if (parts.rounding) {
    const FusedOp *const clamp = &chain[*parts.rounding], *const in = clamp + 1, *const out = clamp + 3;
    rounding = {clamp->alpha, clamp->beta, in->alpha, in->beta, out->alpha, out->beta};
  }
  if (parts.residual) residual = chain[*parts.residual];
  size_t at = parts.last;
  if (at < chain.size() && chain[at].kind == PostOpKind::relu) {
    low = 0;
    ++at;
  } else if (at < chain.size() && chain[at].kind == PostOpKind::clamp) {
    low = chain[at].alpha;
    high = chain[at++].beta;
  }
  const auto steps = [&](size_t begin, size_t end) {
    return std::vector(chain.begin() + static_cast<std::ptrdiff_t>(begin),
                       chain.begin() + static_cast<std::ptrdiff_t>(end));
  };
  first = PostOpChain(context, steps(parts.first, parts.first + parts.first_count), block);
  is_late = parts.is_late;
  rest = PostOpChain(context, steps(at, is_late ? chain.size() - 1 : chain.size()), block);
}

}  // namespace terroir::cpu
