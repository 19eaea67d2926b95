#pragma once
// What: which convolutions can read a joined tensor, one part of which a transposed convolution makes, without the
// whole of it ever being in memory.
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// A transposed convolution of channel blocks with constant weights, whose rows can be made a few at a time.
bool can_make_rows(const NodeContext& transposed);
/// A Concat of whole channel blocks along the channels, beyond what caches hold.
bool can_join_rows(const NodeContext& concat);
/// A convolution for Winograd's algorithm whose result has the extents of its source.
bool can_read_rows(const NodeContext& convolution);

}  // namespace terroir::cpu
