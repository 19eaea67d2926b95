#include "plugins/cpu/kernels/fft/plan.hpp"

#include <algorithm>
#include <complex>
#include <numbers>

namespace terroir::cpu {
namespace {

using Complex = std::complex<double>;

// Prime factors up to this are stages of their own; the kernels have room for no greater one. A convolution costs two
// transforms of two to four times the length, which pays from about here on.
constexpr int64_t kMostRadix = 47;

/// exp(-2 pi i power / n)
Complex root(int64_t power, int64_t n) {
  return std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(power % n) / static_cast<double>(n));
}

void append(std::vector<float>& table, Complex value) {
  table.push_back(static_cast<float>(value.real()));
  table.push_back(static_cast<float>(value.imag()));
}

/// As few as possible, as every stage passes through all numbers: eights, but no 2 where two fours do.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  for (; n % 8 == 0 && (n % 16 != 0 || n % 32 == 0); n /= 8) factors.push_back(8);
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

/// Of a power of two numbers, in place of the argument.
std::vector<Complex> transform(const std::vector<Complex>& x) {
  const size_t n = x.size();
  if (n == 1) return x;
  std::vector<Complex> even(n / 2), odd(n / 2), result(n);
  for (size_t i = 0; i < n / 2; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = transform(even);
  odd = transform(odd);
  for (size_t k = 0; k < n / 2; ++k) {
    const Complex turned = root(static_cast<int64_t>(k), static_cast<int64_t>(n)) * odd[k];
    result[k] = even[k] + turned;
    result[k + n / 2] = even[k] - turned;
  }
  return result;
}

}  // namespace

FftMatrix fft_matrix(int64_t numbers, int64_t least) {
  const std::vector<int64_t> factors = factors_of(numbers);
  if (factors.empty() || factors.back() > kMostRadix) return {};
  // As square as the factors allow when taken from the greatest on.
  int64_t rows = 1;
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor)
    if (rows * *factor * rows * *factor <= numbers) rows *= *factor;
  const FftMatrix matrix{rows, numbers / rows};
  return std::min(matrix.rows, matrix.columns) < least ? FftMatrix{} : matrix;
}

std::vector<float> fft_turns(const FftMatrix& matrix) {
  const int64_t n = matrix.rows * matrix.columns;
  std::vector<float> turns(static_cast<size_t>(2 * n));
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.columns; ++c) {
      const Complex value = root(r * c, n);
      const auto at = static_cast<size_t>(r * matrix.columns + c);
      turns[at] = static_cast<float>(value.real());
      turns[at + static_cast<size_t>(n)] = static_cast<float>(value.imag());
    }
  return turns;
}

std::vector<float> fft_rotations(int64_t numbers) {
  std::vector<float> rotations;
  for (int64_t k = 0; k <= numbers / 2; ++k) append(rotations, root(k, numbers));
  return rotations;
}

FftTables::FftTables(int64_t numbers, bool real_side) {
  plan_.numbers = plan_.signal = numbers;
  if (real_side && numbers % 2 == 0) {
    plan_.signal = numbers / 2;
    plan_.rotations = keep(fft_rotations(numbers));
  }
  plan_.length = plan_.signal;
  const std::vector<int64_t> factors = factors_of(plan_.signal);
  if (!factors.empty() && factors.back() > kMostRadix) add_convolution();
  add_stages(plan_.length);
  plan_.stages = stages_.data();
  plan_.n_stages = static_cast<int64_t>(stages_.size());
}

const float* FftTables::keep(Table table) {
  tables_.push_back(std::move(table));
  return tables_.back().data();
}

void FftTables::add_stages(int64_t length) {
  int64_t side = 1;
  for (const int64_t radix : factors_of(length)) {
    FftStage stage{radix, length, side};
    Table twiddles, roots;
    for (int64_t p = 0; p < length / radix; ++p)
      for (int64_t k = 1; k < radix; ++k) append(twiddles, root(p * k, length));
    for (int64_t j = 0; radix % 2 == 1 && j < radix; ++j) append(roots, std::conj(root(j, radix)));
    stage.twiddles = keep(std::move(twiddles));
    stage.roots = keep(std::move(roots));
    stages_.push_back(stage);
    length /= radix;
    side *= radix;
  }
}

void FftTables::add_convolution() {
  const int64_t n = plan_.signal;
  int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  plan_.length = length;
  Table chirp, spectrum;
  std::vector<Complex> inverse(static_cast<size_t>(length));
  // j * j modulo 2 n, without its overflow.
  for (int64_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
    const Complex value = root(square, 2 * n);
    append(chirp, value);
    inverse[static_cast<size_t>(j)] = std::conj(value);
    if (j > 0) inverse[static_cast<size_t>(length - j)] = std::conj(value);
  }
  for (const Complex& value : transform(inverse)) append(spectrum, value / static_cast<double>(length));
  plan_.chirp = keep(std::move(chirp));
  plan_.spectrum = keep(std::move(spectrum));
}

}  // namespace terroir::cpu
