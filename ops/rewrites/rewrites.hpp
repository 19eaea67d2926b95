#pragma once
// What: portable graph rewrites: no ISA, no layouts, float in and float out. Each is a pass; what it does is its
// comment.
#include <functional>
#include <set>

#include "ir/pass/pass_manager.hpp"
#include "ir/schema/registry.hpp"

namespace terroir::ops {

/// f16 and bf16 values -> f32 ones, rounded only where the model says so: constants are widened, Converts stand behind
/// parameters and behind nodes that give a narrow type whatever they read (Convert to f16), and before results,
/// variables and nodes with bodies, whose types stay. Not a Pass, because it changes the types of values. A model
/// without narrow types is left as it is; it is inferred already, and is so afterwards.
void widen_floats(ir::Graph& graph, const ir::OpRegistry& registry);

/// Reshape(x, [n, ...]) -> Reshape(x, [0, ...]) with special_zero, where n is the first extent of x: a batch that the
/// file has as a number. Not a Pass, because other extents of inputs then have other results; with those of now nothing
/// changes. In place, so layers keep their ids; returns how many it changed. The graph is inferred already. Targets
/// with -1 can be meant either way: that extent, or the batch, may take in what is more.
enum class Targets { all, without_computed };
size_t let_batch_through(ir::Graph& graph, const ir::OpRegistry& registry, Targets targets);

/// Loop or TensorIterator that runs exactly once, whatever the values are -> the layers of its body, over the first
/// parts of what it slices; a layer whose name the graph has already is "loop/layer". Not a Pass, because extents may
/// become better known: where it returns another number than 0, how many it has taken out, the graph is to be inferred.
/// Refuses: sliced extents, trip counts and conditions that are not known; scalars that become a line;
/// bodies that draw random numbers, at any depth, which depend on the loops around.
size_t inline_single_iterations(ir::Graph& graph, const ir::OpRegistry& registry);

/// f(constants) -> constant, for every pure op with a reference kernel and outputs of known size; also ShapeOf of a
/// known shape, and so f16 weights behind a Convert become f32 ones. Refuses: strings (a Const of computed strings has
/// no owner), results larger than 1 GiB, ops that reject the values.
/// `kept` says which nodes stay as they are.
using KeptNodes = std::function<std::set<ir::NodeId>(const ir::Graph&)>;
ir::Pass fold_constants(const ir::OpRegistry& registry, KeptNodes kept = {});

/// Takes out what computes nothing: Convert to the same type, x * 1, x + 0, x - 0, x / 1 with constants that do not
/// broadcast x, Transpose by the identity, Concat of one, Reshape and its kin to the same shape, Pad by nothing.
/// Extents need be known only where they decide.
ir::Pass remove_no_ops();

/// Whether remove_no_ops() may take the node out when extents are better known. What a node computes may then belong
/// to another one: rewrites of which one excludes another wait for that.
bool may_be_no_op(const ir::Graph& graph, const ir::Node& node);

/// BatchNormInference(x, constants) -> x * scale + shift, with scale = gamma / sqrt(variance + eps) and
/// shift = beta - mean * scale, computed in double.
/// Refuses: parameters that are not constants, types other than f32, an unknown number of channels.
ir::Pass decompose_batch_norm(const ir::OpRegistry& registry);

/// Depthwise convolution whose kernel is one element, or Convolution of one channel to one by such a kernel -> x * w,
/// which other layers take in. Refuses: types other than f32, weights that are not constant, strides, pads, several
/// outputs per channel, an unknown number of channels, spatial extents that may be zero (they may be known when shapes
/// are bound).
ir::Pass convert_depthwise_to_multiply(const ir::OpRegistry& registry);

/// (x conv w) * s -> x conv (w * s) and ((x conv w) + b) * s -> (x conv (w * s)) + b * s, where s is a constant per
/// output channel. Refuses: f other than f32, s that varies along another axis, pdpd broadcasting, a convolution with
/// other readers, transposed ones.
ir::Pass fold_scale_into_convolution(const ir::OpRegistry& registry);

/// (x conv v) + (x conv w) -> x conv (v + w), also of groups and with a bias per channel behind either, where each tap
/// of w meets the same elements of x as one of v; so does x * s, with s a constant per channel, as the tap in the
/// middle, and x itself, where v is depthwise. x * s + x * t and x * s + x -> x * (s + t). Blocks of several branches,
/// as some networks are trained, are one layer then. Run before crop_kernels(), which may take taps from one of two.
/// Refuses: kernels of which neither has all taps of the other, results with other readers, weights that are not f32
/// constants or would not be finite, pads that follow from an unknown extent, pdpd broadcasting, transposed ones, data
/// of FakeQuantize.
ir::Pass merge_convolutions(const ir::OpRegistry& registry);

/// Pad(x, 0) conv w -> x conv w with larger pads, also of groups, and MaxPool(Pad(x, 0)) -> MaxPool(x) with larger pads
/// where x is not negative, because ReLU, Sigmoid or Clamp gave it; a Transpose may stand between the Pad and them, as
/// it does in channels-last models. Pads of w that is not finite then count as nothing, not as 0 * w, and a maximum of
/// pads and NaN alone is that of NaN, not 0. Refuses: kernels of one tap, other modes and values, pads of images and
/// channels, negative ones and such as are not constant, pads that follow from the extents (same_upper, same_lower),
/// spatial axes of x that are or may be empty; of MaxPool also windows that might see nothing but pads (as large as the
/// window, dilations, rounding up), and indices that somebody reads; Transposes with a reader that is none of these, as
/// they would stay beside a new one, and orders that are not constant.
ir::Pass fold_pads();

class CroppedKernels;
/// x conv w -> x conv (the taps of w that see an element of x in some window), also of groups: kernels along each axis
/// from the first such tap to the last, pads less as much. So a dilation as large as the image is a 1x1 convolution,
/// and an image of one row a layer along one axis. Taps that are gone are not finite * 0, either: pads count as
/// nothing. Axes of unknown extent stay as they are (they may be known when shapes are bound: `known`, if any, then has
/// one copy of the weights for all plans). Refuses: weights that are not constant or packed elements, kernels that see
/// pads only, pads that follow from an unknown extent (same_upper, same_lower).
ir::Pass crop_kernels(const ir::OpRegistry& registry, CroppedKernels* known = nullptr);

/// (x * s) conv w -> x conv (s * w) and (x / s) conv w -> x conv (w / s), where s is a constant per channel of x;
/// Gather(x, p) conv w -> x conv w', where p puts the channels into another order. So the scale and the order of
/// colours that preprocessing wants cost nothing. In front of the convolution may stand Transposes; behind a Gather
/// also what has a constant per channel or none (means, Convert), whose constants change their places, and resizing of
/// other axes. Refuses: s that may belong to what makes x, when what may_be_no_op() between them is gone; values with
/// other readers; weights other than f32 constants, s of another type, pdpd broadcasting, packed elements, groups,
/// weights that would not be finite.
ir::Pass fold_channels_into_convolution(const ir::OpRegistry& registry);

/// terroir1 Convolution -> Convolution, GroupConvolution or their BackpropData forms, Add of the bias, operations of
/// the activation; Transposes around them for channels-last data, a flipped filter for mode=convolution, Concat with
/// zeros for output_padding of a forward one. The convolution has the node's name, the others "name/bias" and the like.
/// Refuses: types other than f32, unknown ranks and extents of the filter (they may be known when shapes are bound),
/// zeros for output_padding of more than 1 GiB.
ir::Pass lower_terroir1_convolution(const ir::OpRegistry& registry);

/// Transpose(Transpose(x, p), q) -> Transpose(x, p after q), or x where that is the identity.
/// Refuses: orders that are not constant, unknown ranks.
ir::Pass fuse_transposes(const ir::OpRegistry& registry);

/// f(Transpose(x), Transpose(y), constant) -> Transpose(f(x, y, constant')) for Transposes that put channels last and f
/// that is elementwise, Concat, Split, VariadicSplit or Pad (along the axes that were meant), so that Transposes
/// between channels-last convolutions meet and cancel.
/// Refuses: Transposes that stay for another reader (none of these, or refused), and those of which more would come out
/// than go in, as of several branches, unless what moves ends in Transposes; operands that are neither transposed, nor
/// of one element, nor constants along one axis (of Concat: not transposed), pdpd broadcasting, axes and pads that are
/// not constant, Splits whose parts have other readers.
ir::Pass sink_transposes(const ir::OpRegistry& registry);

/// Mean-variance normalisation written as ReduceMean, Subtract, Power, Sqrt, Divide and the like -> MVN-6; the scale
/// and shift behind it stay as they are. Forms and refusals: normalization_pattern.hpp.
ir::Pass collapse_mvn(const ir::OpRegistry& registry);

/// Reshape to groups of channels, MVN-6 of each, Reshape back -> GroupNormalization-12, which takes a scale and a shift
/// per channel behind it: how converters write it. The Reshape back stays behind it unless it is known to give the
/// extents of the input. MVN-6 over all axes but the batch with a scale or a shift per channel behind it (global layer
/// normalisation) -> that of one group, as it then also keeps the layout of convolutions. Extents other than the
/// channels need not be known. Refuses: types other than f32, unknown channels, as many groups as channels where the
/// Reshape may be none, a Reshape back to other channels or to what is known of the groups only (it may be known when
/// shapes are bound), axes or groups that are not those of whole channels, an eps outside of the root or that is not
/// positive, intermediate results that something else reads too.
ir::Pass collapse_group_normalization(const ir::OpRegistry& registry);

/// x times a function of x -> the activation that this is, in any order of the factors and any form of polynomials:
///   x * 0.5 * (1 + erf(x / sqrt(2))), x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) -> Gelu-7,
///   x * sigmoid(b * x) -> Swish-4, x * tanh(softplus(x)) -> Mish-4,
///   x * clamp(x + 3, 0, 6) / 6, x * hsigmoid(x), x * hard_sigmoid(x; 1/6, 1/2) -> HSwish-4.
/// Numbers of Gelu may have been rounded to half precision. Refuses: other numbers or types, intermediate results of
/// the product or the function that something else reads too.
ir::Pass collapse_gates(const ir::OpRegistry& registry);

/// FakeQuantize(x, limits) -> Convert to u8 or i8 -> Convert -> Subtract(zero points) -> Multiply(scales)
///   => FakeQuantize(x, limits'), with limits' = (limits - zero points) * scales of what it gives
/// with or without Subtract: how QuantizeLinear and DequantizeLinear of ONNX look in an IR. Several such readers of the
/// same integers have one each, or one together where it is the same; what else reads the integers keeps them. A level
/// that floats put a little below its integer, as 2.9999998, is that integer, and NaN stays NaN: the Convert would give
/// 2 and 0. Refuses: levels that are not whole numbers of the integer type one after the other, numbers that are not
/// constant f32 or differ along axes of their own, scales that are not positive, results that are not finite or not of
/// the shape of x (it may be known when shapes are bound), pdpd broadcasting.
ir::Pass collapse_quantize_dequantize(const ir::OpRegistry& registry);

/// TensorIterator or Loop over one LSTM, GRU or RNN cell -> the sequence op: the cell reads elements of the time axis,
/// its states come back as its next ones, outputs are the states along the time axis (put together in the order in
/// which the data was taken apart) and the last ones. Squeeze, Unsqueeze and Reshape may stand around the cell,
/// constants and values from outside may be its weights. Refuses: other data axes than the first two of three, parts of
/// other sizes, a time axis walked only in part, outputs of anything else than the cell, a Loop that may stop early or
/// whose trip count is not the known extent, unknown ranks.
ir::Pass collapse_recurrent_loop(const ir::OpRegistry& registry);

/// ScatterElementsUpdate(data, indices, updates, 0) whose indices are the same along all other axes, as of a constant,
/// Broadcast or Tile of one column -> ScatterNDUpdate-15 of whole rows, with a column of indices: how frameworks write
/// the sums of what graphs send along their edges. Refuses: means, data that do not count (use_init_val), unknown
/// extents (they may be known when shapes are bound), parts of rows, rows of less than 16 elements.
ir::Pass scatter_whole_rows(const ir::OpRegistry& registry);

/// Gather(Multiply(Subtract?(Convert(numbers), zeros), scales), indices, 0) of a constant matrix of bytes -> the same
/// arithmetic on the rows that are gathered: tables of words stay as small as they are. Refuses: tables of less than a
/// million numbers, zeros and scales that are no constants or stand first, a single index without an axis.
ir::Pass gather_compressed_rows();

/// Einsum -> MatMul of two operands after the other (the pair with the smallest product first), with Transposes only
/// where the equation's order is that of no matrix product, ReduceSum over axes of one operand, Multiply where nothing
/// is summed or all axes are shared, Gather of diagonals. Integers wrap around in all of these. Refuses: other floats
/// than f32 (the reference sums wider), packed integers, unknown extents (they may be known when shapes are bound),
/// operands without elements.
ir::Pass decompose_einsum(const ir::OpRegistry& registry);

}  // namespace terroir::ops
