#include "plugins/cpu/nodes/quantized_problem.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

bool is_own(const ConvAxis& a) { return a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.in == a.out; }

int64_t joined_groups(const ConvProblem& p, bool depthwise, const ByteForm& form) {
  if (depthwise || p.groups == 1) return 1;
  const int64_t found = ByteProblem::groups_at_once(p.groups, p.ic / p.groups, p.oc / p.groups, form);
  // Passes make no such layer; a file may.
  if (found == 0) throw_error(ErrorCode::parse_error, "the compiled model is damaged: groups are no whole blocks");
  return found;
}

constexpr int64_t floor_div(int64_t a, int64_t b) { return (a < 0 ? a - b + 1 : a) / b; }

ResultAxis result_axis(const ConvAxis& a, bool transposed) {
  if (!transposed) return {a.out, 1, 0, a.kernel};
  return {a.out, a.stride, floor_div(a.pad, a.stride) * a.stride - a.pad, a.kernel};
}

/// Of positions.
ConvAxis position_axis(const ConvAxis& a, bool transposed) {
  if (!transposed) return a;
  const int64_t taps = ceil_div(a.kernel, a.stride), first = floor_div(a.pad, a.stride);
  return {a.in, floor_div(a.out - 1 + a.pad, a.stride) - first + 1, taps, 1, 1, taps - 1 - first};
}

bool is_single(const ConvAxis& a) { return is_own(a) && a.in == 1; }

/// Cycles of a step in all register tiles of a row, each of twelve sums at most, by units of so many blocks.
double row_cycles(int64_t parts, int64_t most, int64_t positions, const ByteForm& form) {
  constexpr int64_t kSums = 12, kMostPositions = 6;
  // Of bytes each sum waits for the one before.
  const double per_cycle = 2, latency = form.element == 1 ? 5 : 0;
  const auto of_tile = [&](int64_t sums) { return std::max(static_cast<double>(sums) / per_cycle, latency); };
  const auto of_unit = [&](int64_t blocks) {
    const int64_t tiles = ceil_div(positions, std::min(kSums / blocks, kMostPositions)), wider = positions % tiles;
    return static_cast<double>(tiles - wider) * of_tile(positions / tiles * blocks) +
           static_cast<double>(wider) * of_tile((positions / tiles + 1) * blocks);
  };
  const int64_t units = ceil_div(parts, most), larger = parts % units;
  return static_cast<double>(units - larger) * of_unit(parts / units) +
         static_cast<double>(larger) * of_unit(parts / units + 1);
}

/// Blocks of a unit. Those of two read fewer weights for a position than those of three.
int64_t most_parts(int64_t parts, int64_t most, int64_t positions, const ByteForm& form) {
  constexpr int64_t kThree = 3, kTwo = 2;
  constexpr double kWorthMoreWeights = 0.95;
  if (most != kThree) return most;
  const double two = row_cycles(parts, kTwo, positions, form), three = row_cycles(parts, kThree, positions, form);
  return parts % kTwo == 0 && three > kWorthMoreWeights * two ? kTwo : kThree;
}

bool is_padded(const ConvAxis& a) {
  return a.pad > 0 || (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation - a.pad >= a.in;
}

}  // namespace

ByteForm form_of_bytes(const ByteConvKernels& kernels) noexcept {
  constexpr int64_t kWidened = 2;
  return {kernels.wide_rows != nullptr, kernels.widen ? kWidened : 1, kernels.lanes, kernels.most_blocks};
}

int64_t ByteProblem::groups_at_once(int64_t groups, int64_t inputs, int64_t outputs, const ByteForm& form) {
  const auto whole = [&](int64_t n) { return n * inputs % form.block == 0 && n * outputs % form.block == 0; };
  int64_t found = 0;
  for (int64_t n = 1; n <= groups && n * inputs <= kWideBytes; ++n) {
    const bool at_once = form.tiles && n * inputs * form.element <= kWideBytes;
    if (groups % n == 0 && whole(n) && (found == 0 || at_once)) found = n;
  }
  // Larger ones stand for themselves.
  if (found == 0 && whole(1)) found = 1;
  return found;
}

ByteProblem::ByteProblem(const ConvProblem& problem, const ByteForm& form)
    : matrix(false),
      depthwise(problem.groups > 1 && problem.groups == problem.ic && problem.groups == problem.oc),
      element(form.element),
      block(form.block),
      bf16(form.bf16()),
      batch(problem.batch),
      groups(depthwise ? 1 : problem.groups / joined_groups(problem, depthwise, form)),
      group_inputs(depthwise ? 1 : problem.ic / groups),
      group_outputs(problem.oc / groups),
      row_inputs(problem.ic / problem.groups),
      row_outputs(depthwise ? group_outputs : problem.oc / problem.groups),
      transposed(problem.transposed),
      results{result_axis(problem.d, transposed), result_axis(problem.h, transposed),
              result_axis(problem.w, transposed)},
      axes{position_axis(problem.d, transposed), position_axis(problem.h, transposed),
           position_axis(problem.w, transposed)},
      sources{},
      source_blocks(ceil_div(problem.ic, block)),
      group_blocks(ceil_div(group_outputs, block) * phases()),
      line(false),
      padded(depthwise || std::any_of(axes.begin(), axes.end(), is_padded)),
      wide(form.tiles && !depthwise),
      position(source_blocks * block * element),
      taps_of_span(1) {
  if (!depthwise && phases() == 1 && std::all_of(axes.begin(), axes.end(), is_own)) {
    ConvAxis& row = axes[2];
    row.in = row.out = axes[0].out * axes[1].out * row.out;
    axes[0] = axes[1] = {};
    results = {ResultAxis{}, ResultAxis{}, ResultAxis{.extent = row.out}};
  }
  sources = axes;
  line = !depthwise && is_single(axes[0]) && is_single(axes[1]) && results[0].phases * results[1].phases == 1;
  const ConvAxis& w = axes[2];
  if (wide && groups == 1) {
    for (const int64_t few : {int64_t{8}, int64_t{4}})
      if (group_inputs * element <= few) position = few;
    if (w.dilation == 1) taps_of_span = w.kernel;
  }
  if (depthwise) taps_of_span = w.kernel;
  // Units that differ by a block at most, or by two of them that are stored together: of few sums at once each waits
  // for the one before.
  const int64_t blocks = group_blocks / phases(), together = bf16 ? kBf16Block / kByteBlock : 1;
  const int64_t parts = ceil_div(blocks, together),
                most = most_parts(parts, form.most_blocks / together, axes[2].out, form);
  const int64_t count = depthwise ? blocks : ceil_div(parts, most);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t phase = 0; phase < phases(); ++phase)
      for (int64_t i = 0; i < count; ++i) {
        const int64_t begin = parts * i / count * together, end = std::min(parts * (i + 1) / count * together, blocks);
        const int64_t across = results[1].phases * results[2].phases;
        units.push_back({g,
                         g * group_blocks + phase * blocks + begin,
                         end - begin,
                         std::min(block, group_outputs - (end - 1) * block),
                         g * blocks + begin,
                         {phase / across, phase / results[2].phases % results[1].phases, phase % results[2].phases}});
      }
}

bool ByteProblem::gathers_well(bool copied, bool whole_tiles) const noexcept {
  const bool strided = !line && !padded && !transposed && !depthwise && taps() == 1;
  if (!bf16 || matrix || !strided || position < kByteBlock) return false;
  if (copied || !fits_blocks()) return true;
  if (!whole_tiles) return false;
  // Cycles of a product of tiles, and, estimated, of 64 bytes that are copied: the layers of ResNet-50 gather by it.
  constexpr double kProduct = 16, kCopied = 4;
  constexpr int64_t kTile = 16;
  const int64_t rows = axes[0].out * axes[1].out, columns = axes[2].out;
  const auto saved = static_cast<double>(rows * ceil_div(columns, kTile) - ceil_div(rows * columns, kTile));
  return saved * kProduct * static_cast<double>(group_blocks) > static_cast<double>(rows * columns) * kCopied;
}

void ByteProblem::gather() {
  ConvAxis row;
  row.in = row.out = axes[0].out * axes[1].out * axes[2].out;
  axes = {ConvAxis{}, ConvAxis{}, row};
  results = {ResultAxis{}, ResultAxis{}, ResultAxis{.extent = row.out}};
  line = gathers = true;
}

bool ByteProblem::pays_by_tiles() const noexcept {
  const auto fits = [](const ConvAxis& a) { return a.kernel == 3 && a.stride == 1 && a.dilation == 1; };
  if (matrix || depthwise || transposed || groups > 1 || line || axes[0].kernel > 1 || axes[0].in > 1 ||
      axes[0].out > 1 || !fits(axes[1]) || !fits(axes[2]))
    return false;
  // Of fewer channels most of the time is spent on the transforms.
  constexpr int64_t kFewest = 16;
  if (group_inputs < kFewest || group_outputs < kFewest || group_inputs > WinogradTiles::kMostChannels) return false;
  // Products of the tiles, some of whose outputs there are not, and of the windows: those must be worth the transforms.
  constexpr double kWorth = 0.8;
  const WinogradTiles tiles = winograd_tiles(axes[1].out);
  return static_cast<double>(tiles.count() * WinogradTiles::kNumbers) <
         kWorth * static_cast<double>(axes[1].out * axes[2].out * taps());
}

ResultAxis::Positions ResultAxis::inside(int64_t phase, int64_t positions) const {
  const auto positions_before = [&](int64_t result) {
    return std::clamp<int64_t>(ceil_div(result - first - phase, phases), 0, positions);
  };
  return {positions_before(0), positions_before(extent)};
}

int64_t ByteProblem::own_tap(int64_t tap, const std::array<int64_t, 3>& phase) const noexcept {
  if (!transposed) return tap;
  int64_t own = 0;
  const std::array<int64_t, 3> at = {tap / axes[2].kernel / axes[1].kernel, tap / axes[2].kernel % axes[1].kernel,
                                     tap % axes[2].kernel};
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t one = phase[axis] + results[axis].phases * (axes[axis].kernel - 1 - at[axis]);
    if (one >= results[axis].kernel) return -1;
    own = own * results[axis].kernel + one;
  }
  return own;
}

ByteProblem::ByteProblem(int64_t rows, int64_t inputs, int64_t outputs, const ByteForm& form)
    : ByteProblem(ConvProblem{1, 1, inputs, outputs, {}, {}, {.in = rows, .out = rows}}, form) {
  matrix = true;
  // What lies behind a row is multiplied with zeros, and must be a number.
  position = round_up(inputs * element, bf16 ? kWideBytes : kBytesAtOnce);
  // Of few rows the weights are all that counts.
  constexpr int64_t kLeast = 4;
  if (rows < kLeast && element == 1) wide = false;
}

int64_t ByteProblem::span_bytes() const noexcept {
  return depthwise ? taps_of_span * element : (taps_of_span - 1) * position + group_inputs * element;
}

int64_t ByteProblem::span_steps() const noexcept {
  return round_up(span_bytes(), wide ? kWideBytes : kBytesAtOnce) / kBytesAtOnce;
}

std::vector<int32_t> ByteProblem::offsets(const Strides& strides, bool in_place) const {
  std::vector<int32_t> offsets;
  for (int64_t step = 0; winograd && step < number_steps(); ++step)
    offsets.push_back(static_cast<int32_t>(step * kBytesAtOnce));
  if (winograd) return offsets;
  for (int64_t span = 0; span < spans(); ++span) {
    const int64_t tap = span * taps_of_span, kw = tap % axes[2].kernel, kh = tap / axes[2].kernel % axes[1].kernel,
                  kd = tap / axes[2].kernel / axes[1].kernel;
    const int64_t first =
        kd * axes[0].dilation * strides.d + kh * axes[1].dilation * strides.h + kw * axes[2].dilation * strides.w;
    for (int64_t step = 0; step < span_steps(); ++step) {
      int64_t byte = step * kBytesAtOnce;
      if (in_place) {
        const int64_t of_span = taps_of_span > 1 ? byte / position : 0, at = byte - of_span * position;
        byte = of_span * strides.w + at / kWideBytes * 2 * strides.block + at % kWideBytes;
      }
      const int64_t of_block = block * element;
      const int64_t behind = depthwise ? byte / element * strides.w
                             : wide    ? byte
                                       : byte / of_block * strides.block + byte % of_block;
      offsets.push_back(static_cast<int32_t>(first + behind));
    }
  }
  return offsets;
}

TapClasses tap_classes(const ConvAxis& axis) {
  TapClasses found;
  for (int64_t o = 0; o < axis.out; ++o) {
    const int64_t at = o * axis.stride - axis.pad;
    TapClasses::Taps taps{at < 0 ? ceil_div(-at, axis.dilation) : 0,
                          at < axis.in ? ceil_div(axis.in - at, axis.dilation) : 0};
    taps.begin = std::min(taps.begin, axis.kernel);
    taps.end = std::clamp(taps.end, taps.begin, axis.kernel);
    const auto known = std::find(found.classes.begin(), found.classes.end(), taps);
    found.of.push_back(static_cast<int32_t>(known - found.classes.begin()));
    if (known == found.classes.end()) found.classes.push_back(taps);
  }
  return found;
}

}  // namespace terroir::cpu
