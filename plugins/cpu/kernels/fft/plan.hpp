#pragma once
// What: the stages and tables of transforms of one length, computed in double.
#include <memory>
#include <vector>

#include "plugins/cpu/kernels/fft/fft.hpp"

namespace terroir::cpu {

class FftTables {
 public:
  /// `real_side`: the numbers on one side are real ones.
  FftTables(int64_t numbers, bool real_side);
  FftTables(const FftTables&) = delete;
  FftTables& operator=(const FftTables&) = delete;

  const FftPlan& plan() const { return plan_; }
  size_t bytes() const {
    size_t floats = 0;
    for (const Table& table : tables_) floats += table.size();
    return floats * sizeof(float) + stages_.size() * sizeof(FftStage);
  }

 private:
  using Table = std::vector<float>;
  const float* keep(Table table);
  void add_stages(int64_t length);
  void add_convolution();

  std::vector<Table> tables_;
  std::vector<FftStage> stages_;
  FftPlan plan_;
};

/// A long line as a matrix of rows by columns: where both are at least `least`, and need no convolution; else {0, 0}.
/// Its transform is that of the columns, turned (see FftArgs::turns), then of the rows, whose result k of row r is
/// number r + rows * k.
struct FftMatrix {
  int64_t rows = 0, columns = 0;
};
FftMatrix fft_matrix(int64_t numbers, int64_t least);
std::vector<float> fft_turns(const FftMatrix& matrix);

/// [numbers / 2 + 1] pairs: exp(-2 pi i k / numbers).
std::vector<float> fft_rotations(int64_t numbers);

}  // namespace terroir::cpu
