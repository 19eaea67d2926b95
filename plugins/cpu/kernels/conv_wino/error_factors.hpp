// What: what a transform of one axis does to rounding errors; see error_bound.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terroir::cpu::wino {

// factor[p][x] = sum over points i of |A[i][p]| beta_i |G[i][x]|, so that
// N[p][q] = sum over x,y of factor[p][x] factor[q][y] S[x][y].
struct Factors {
  int64_t tile;
  double factor[5][4];
};

// Of F(outputs, taps) at 0, +-kWinoInner, +-kWinoOuter and infinity.
Factors five_point_factors(int64_t outputs, size_t taps);

}  // namespace terroir::cpu::wino
