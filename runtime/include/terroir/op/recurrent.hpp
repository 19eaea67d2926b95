// Recurrent layers, and what reads their sequences, as code makes them.
//
// What: cells without a bias get one of zeros, and the first LSTM peepholes of zeros, as OpenVINO's do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

namespace op {

enum class RecurrentSequenceDirection { FORWARD, REVERSE, BIDIRECTIONAL };
/// The order of the gates in weights: forget, input, cell, output.
enum class LSTMWeightsFormat { FICO, ICOF, IFCO, IFOC, IOFC };

inline detail::Names<3> spellings(RecurrentSequenceDirection) { return {"forward", "reverse", "bidirectional"}; }
inline detail::Names<5> spellings(LSTMWeightsFormat) { return {"fico", "icof", "ifco", "ifoc", "iofc"}; }

}  // namespace op

namespace detail {

/// What all of them have.
inline AnyMap recurrent(size_t hidden_size, const std::vector<std::string>& activations,
                        const std::vector<float>& alpha, const std::vector<float>& beta, float clip,
                        const AnyMap& more = {}) {
  AnyMap attributes{{"hidden_size", static_cast<int64_t>(hidden_size)},
                    {"activations", activations},
                    {"activations_alpha", reals(alpha)},
                    {"activations_beta", reals(beta)},
                    {"clip", clip}};
  attributes.insert(more.begin(), more.end());
  return attributes;
}

inline std::shared_ptr<op::v0::Constant> zeros_like(const Output<Node>& data, const Shape& shape) {
  return std::make_shared<op::v0::Constant>(data.get_element_type(), shape, 0.0f);
}

}  // namespace detail

namespace op {
namespace util {

/// All cells and sequences.
class RNNCellBase : public Node {
  TERROIR_LAYER_BASE(Node, RNNCellBase)
  size_t get_hidden_size() const { return detail::attribute<size_t>(*this, "hidden_size"); }
  void set_hidden_size(size_t hidden_size) { detail::set_attribute(*this, "hidden_size", hidden_size); }
  const std::vector<std::string> get_activations() const {
    return detail::attribute<std::vector<std::string>>(*this, "activations");
  }
  void set_activations(const std::vector<std::string>& activations) {
    detail::set_attribute(*this, "activations", activations);
  }
  const std::vector<float> get_activations_alpha() const {
    return detail::attribute<std::vector<float>>(*this, "activations_alpha");
  }
  void set_activations_alpha(const std::vector<float>& activations_alpha) {
    detail::set_attribute(*this, "activations_alpha", activations_alpha);
  }
  const std::vector<float> get_activations_beta() const {
    return detail::attribute<std::vector<float>>(*this, "activations_beta");
  }
  void set_activations_beta(const std::vector<float>& activations_beta) {
    detail::set_attribute(*this, "activations_beta", activations_beta);
  }
  float get_clip() const { return detail::attribute<float>(*this, "clip"); }
  void set_clip(float clip) { detail::set_attribute(*this, "clip", clip); }
};

/// All sequences.
class RNNSequenceBase : public RNNCellBase {
  TERROIR_LAYER_BASE(RNNCellBase, RNNSequenceBase)
  RecurrentSequenceDirection get_direction() const {
    return detail::attribute<RecurrentSequenceDirection>(*this, "direction");
  }
  void set_direction(RecurrentSequenceDirection direction) { detail::set_attribute(*this, "direction", direction); }
};

}  // namespace util

namespace v0 {

class RNNCell : public util::RNNCellBase {
  TERROIR_LAYER_OF(util::RNNCellBase, RNNCell, "RNNCell", "opset1")
  RNNCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& weights,
          const Output<Node>& recurrence, const Output<Node>& bias, size_t hidden_size,
          const std::vector<std::string>& activations = {"tanh"}, const std::vector<float>& activations_alpha = {},
          const std::vector<float>& activations_beta = {}, float clip = 0)
      : RNNCell(OutputVector{data, hidden, weights, recurrence, bias},
                detail::recurrent(hidden_size, activations, activations_alpha, activations_beta, clip)) {}
  RNNCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& weights,
          const Output<Node>& recurrence, size_t hidden_size, const std::vector<std::string>& activations = {"tanh"},
          const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
          float clip = 0)
      : RNNCell(data, hidden, weights, recurrence, detail::zeros_like(data, {hidden_size}), hidden_size, activations,
                activations_alpha, activations_beta, clip) {}
};

class LSTMCell : public util::RNNCellBase {
  TERROIR_LAYER_OF(util::RNNCellBase, LSTMCell, "LSTMCell", "opset1")
  LSTMCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& weights,
           const Output<Node>& recurrence, const Output<Node>& bias, const Output<Node>& peepholes, size_t hidden_size,
           LSTMWeightsFormat weights_format = LSTMWeightsFormat::IFCO,
           const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
           const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
           float clip = 0, bool input_forget = false)
      : LSTMCell(
            OutputVector{data, hidden, cell, weights, recurrence, bias, peepholes},
            detail::recurrent(hidden_size, activations, activations_alpha, activations_beta, clip,
                              {{"weights_format", detail::spelling(weights_format)}, {"input_forget", input_forget}})) {
  }
  LSTMCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& weights,
           const Output<Node>& recurrence, const Output<Node>& bias, size_t hidden_size,
           LSTMWeightsFormat weights_format = LSTMWeightsFormat::IFCO,
           const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
           const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
           float clip = 0, bool input_forget = false)
      : LSTMCell(data, hidden, cell, weights, recurrence, bias, detail::zeros_like(data, {3 * hidden_size}),
                 hidden_size, weights_format, activations, activations_alpha, activations_beta, clip, input_forget) {}
  LSTMCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& weights,
           const Output<Node>& recurrence, size_t hidden_size,
           LSTMWeightsFormat weights_format = LSTMWeightsFormat::IFCO,
           const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
           const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
           float clip = 0, bool input_forget = false)
      : LSTMCell(data, hidden, cell, weights, recurrence, detail::zeros_like(data, {4 * hidden_size}), hidden_size,
                 weights_format, activations, activations_alpha, activations_beta, clip, input_forget) {}
  bool get_input_forget() const { return detail::attribute<bool>(*this, "input_forget"); }
  void set_input_forget(bool input_forget) { detail::set_attribute(*this, "input_forget", input_forget); }
  LSTMWeightsFormat get_weights_format() const { return detail::attribute<LSTMWeightsFormat>(*this, "weights_format"); }
  void set_weights_format(LSTMWeightsFormat weights_format) {
    detail::set_attribute(*this, "weights_format", weights_format);
  }
};

class LSTMSequence : public util::RNNSequenceBase {
  TERROIR_LAYER_OF(util::RNNSequenceBase, LSTMSequence, "LSTMSequence", "opset1")
  using direction = RecurrentSequenceDirection;
  LSTMSequence(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell,
               const Output<Node>& sequence_lengths, const Output<Node>& weights, const Output<Node>& recurrence,
               const Output<Node>& bias, const Output<Node>& peepholes, int64_t hidden_size, direction lstm_direction,
               LSTMWeightsFormat weights_format = LSTMWeightsFormat::IFCO,
               const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
               const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"}, float clip_threshold = 0,
               bool input_forget = false)
      : LSTMSequence(OutputVector{data, hidden, cell, sequence_lengths, weights, recurrence, bias, peepholes},
                     detail::recurrent(static_cast<size_t>(hidden_size), activations, activations_alpha,
                                       activations_beta, clip_threshold,
                                       {{"direction", detail::spelling(lstm_direction)},
                                        {"weights_format", detail::spelling(weights_format)},
                                        {"input_forget", input_forget}})) {}
  LSTMSequence(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell,
               const Output<Node>& sequence_lengths, const Output<Node>& weights, const Output<Node>& recurrence,
               const Output<Node>& bias, int64_t hidden_size, direction lstm_direction,
               LSTMWeightsFormat weights_format = LSTMWeightsFormat::IFCO,
               const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
               const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"}, float clip_threshold = 0,
               bool input_forget = false)
      : LSTMSequence(data, hidden, cell, sequence_lengths, weights, recurrence, bias,
                     detail::zeros_like(data, {lstm_direction == direction::BIDIRECTIONAL ? size_t{2} : size_t{1},
                                               3 * static_cast<size_t>(hidden_size)}),
                     hidden_size, lstm_direction, weights_format, activations_alpha, activations_beta, activations,
                     clip_threshold, input_forget) {}
  float get_clip_threshold() const { return get_clip(); }
  bool get_input_forget() const { return detail::attribute<bool>(*this, "input_forget"); }
  void set_input_forget(bool input_forget) { detail::set_attribute(*this, "input_forget", input_forget); }
  LSTMWeightsFormat get_weights_format() const { return detail::attribute<LSTMWeightsFormat>(*this, "weights_format"); }
  void set_weights_format(LSTMWeightsFormat weights_format) {
    detail::set_attribute(*this, "weights_format", weights_format);
  }
};

/// Labels of the best path: `sequence_mask` is 0 behind the end of a sequence.
class CTCGreedyDecoder : public Node {
  TERROIR_LAYER(CTCGreedyDecoder, "CTCGreedyDecoder", "opset1")
  CTCGreedyDecoder(const Output<Node>& data, const Output<Node>& sequence_mask, bool ctc_merge_repeated)
      : CTCGreedyDecoder(OutputVector{data, sequence_mask}, {{"ctc_merge_repeated", ctc_merge_repeated}}) {}
  bool get_ctc_merge_repeated() const { return detail::attribute<bool>(*this, "ctc_merge_repeated"); }
  void set_ctc_merge_repeated(bool ctc_merge_repeated) {
    detail::set_attribute(*this, "ctc_merge_repeated", ctc_merge_repeated);
  }
};

class ReverseSequence : public Node {
  TERROIR_LAYER(ReverseSequence, "ReverseSequence", "opset1")
  ReverseSequence(const Output<Node>& data, const Output<Node>& lengths, int64_t batch_axis = 0, int64_t seq_axis = 1)
      : ReverseSequence(OutputVector{data, lengths}, {{"batch_axis", batch_axis}, {"seq_axis", seq_axis}}) {}
  int64_t get_origin_batch_axis() const { return detail::attribute<int64_t>(*this, "batch_axis"); }
  int64_t get_origin_sequence_axis() const { return detail::attribute<int64_t>(*this, "seq_axis"); }
  /// Counted from the front.
  size_t get_batch_axis() const { return detail::axis_from_front(*this, get_origin_batch_axis()); }
  size_t get_sequence_axis() const { return detail::axis_from_front(*this, get_origin_sequence_axis()); }
  void set_batch_axis(int64_t batch_axis) { detail::set_attribute(*this, "batch_axis", batch_axis); }
  void set_sequence_axis(int64_t sequence_axis) { detail::set_attribute(*this, "seq_axis", sequence_axis); }
};

}  // namespace v0

namespace v3 {

class GRUCell : public util::RNNCellBase {
  TERROIR_LAYER_OF(util::RNNCellBase, GRUCell, "GRUCell", "opset3")
  GRUCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& weights,
          const Output<Node>& recurrence, const Output<Node>& bias, size_t hidden_size,
          const std::vector<std::string>& activations = {"sigmoid", "tanh"},
          const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
          float clip = 0, bool linear_before_reset = false)
      : GRUCell(OutputVector{data, hidden, weights, recurrence, bias},
                detail::recurrent(hidden_size, activations, activations_alpha, activations_beta, clip,
                                  {{"linear_before_reset", linear_before_reset}})) {}
  GRUCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& weights,
          const Output<Node>& recurrence, size_t hidden_size, const std::vector<std::string>& activations,
          const std::vector<float>& activations_alpha, const std::vector<float>& activations_beta, float clip,
          bool linear_before_reset)
      : GRUCell(data, hidden, weights, recurrence,
                detail::zeros_like(data, {(linear_before_reset ? 4 : 3) * hidden_size}), hidden_size, activations,
                activations_alpha, activations_beta, clip, linear_before_reset) {}
  GRUCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& weights,
          const Output<Node>& recurrence, size_t hidden_size)
      : GRUCell(data, hidden, weights, recurrence, hidden_size, {"sigmoid", "tanh"}, {}, {}, 0, false) {}
  bool get_linear_before_reset() const { return detail::attribute<bool>(*this, "linear_before_reset"); }
  void set_linear_before_reset(bool linear_before_reset) {
    detail::set_attribute(*this, "linear_before_reset", linear_before_reset);
  }
};

}  // namespace v3

namespace v4 {

class LSTMCell : public util::RNNCellBase {
  TERROIR_LAYER_OF(util::RNNCellBase, LSTMCell, "LSTMCell", "opset4")
  LSTMCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& weights,
           const Output<Node>& recurrence, const Output<Node>& bias, size_t hidden_size,
           const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
           const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
           float clip = 0)
      : LSTMCell(OutputVector{data, hidden, cell, weights, recurrence, bias},
                 detail::recurrent(hidden_size, activations, activations_alpha, activations_beta, clip)) {}
  LSTMCell(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& weights,
           const Output<Node>& recurrence, size_t hidden_size,
           const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
           const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
           float clip = 0)
      : LSTMCell(data, hidden, cell, weights, recurrence, detail::zeros_like(data, {4 * hidden_size}), hidden_size,
                 activations, activations_alpha, activations_beta, clip) {}
};

class CTCLoss : public Node {
  TERROIR_LAYER(CTCLoss, "CTCLoss", "opset4")
  CTCLoss(const Output<Node>& logits, const Output<Node>& logit_length, const Output<Node>& labels,
          const Output<Node>& label_length, bool preprocess_collapse_repeated = false, bool ctc_merge_repeated = true,
          bool unique = false)
      : CTCLoss(OutputVector{logits, logit_length, labels, label_length},
                attributes(preprocess_collapse_repeated, ctc_merge_repeated, unique)) {}
  CTCLoss(const Output<Node>& logits, const Output<Node>& logit_length, const Output<Node>& labels,
          const Output<Node>& label_length, const Output<Node>& blank_index, bool preprocess_collapse_repeated = false,
          bool ctc_merge_repeated = true, bool unique = false)
      : CTCLoss(OutputVector{logits, logit_length, labels, label_length, blank_index},
                attributes(preprocess_collapse_repeated, ctc_merge_repeated, unique)) {}
  bool get_preprocess_collapse_repeated() const {
    return detail::attribute<bool>(*this, "preprocess_collapse_repeated");
  }
  bool get_ctc_merge_repeated() const { return detail::attribute<bool>(*this, "ctc_merge_repeated"); }
  bool get_unique() const { return detail::attribute<bool>(*this, "unique"); }

 private:
  static AnyMap attributes(bool preprocess_collapse_repeated, bool ctc_merge_repeated, bool unique) {
    return {{"preprocess_collapse_repeated", preprocess_collapse_repeated},
            {"ctc_merge_repeated", ctc_merge_repeated},
            {"unique", unique}};
  }
};

}  // namespace v4

namespace v5 {

class RNNSequence : public util::RNNSequenceBase {
  TERROIR_LAYER_OF(util::RNNSequenceBase, RNNSequence, "RNNSequence", "opset5")
  RNNSequence(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& sequence_lengths,
              const Output<Node>& weights, const Output<Node>& recurrence, const Output<Node>& bias, size_t hidden_size,
              RecurrentSequenceDirection direction, const std::vector<std::string>& activations = {"tanh"},
              const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
              float clip = 0)
      : RNNSequence(OutputVector{data, hidden, sequence_lengths, weights, recurrence, bias},
                    detail::recurrent(hidden_size, activations, activations_alpha, activations_beta, clip,
                                      {{"direction", detail::spelling(direction)}})) {}
};

class GRUSequence : public util::RNNSequenceBase {
  TERROIR_LAYER_OF(util::RNNSequenceBase, GRUSequence, "GRUSequence", "opset5")
  GRUSequence(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& sequence_lengths,
              const Output<Node>& weights, const Output<Node>& recurrence, const Output<Node>& bias, size_t hidden_size,
              RecurrentSequenceDirection direction, const std::vector<std::string>& activations = {"sigmoid", "tanh"},
              const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
              float clip = 0, bool linear_before_reset = false)
      : GRUSequence(OutputVector{data, hidden, sequence_lengths, weights, recurrence, bias},
                    detail::recurrent(
                        hidden_size, activations, activations_alpha, activations_beta, clip,
                        {{"direction", detail::spelling(direction)}, {"linear_before_reset", linear_before_reset}})) {}
  bool get_linear_before_reset() const { return detail::attribute<bool>(*this, "linear_before_reset"); }
  void set_linear_before_reset(bool linear_before_reset) {
    detail::set_attribute(*this, "linear_before_reset", linear_before_reset);
  }
};

class LSTMSequence : public util::RNNSequenceBase {
  TERROIR_LAYER_OF(util::RNNSequenceBase, LSTMSequence, "LSTMSequence", "opset5")
  using direction = RecurrentSequenceDirection;
  LSTMSequence(const Output<Node>& data, const Output<Node>& hidden, const Output<Node>& cell,
               const Output<Node>& sequence_lengths, const Output<Node>& weights, const Output<Node>& recurrence,
               const Output<Node>& bias, int64_t hidden_size, direction lstm_direction,
               const std::vector<float>& activations_alpha = {}, const std::vector<float>& activations_beta = {},
               const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"}, float clip = 0)
      : LSTMSequence(OutputVector{data, hidden, cell, sequence_lengths, weights, recurrence, bias},
                     detail::recurrent(static_cast<size_t>(hidden_size), activations, activations_alpha,
                                       activations_beta, clip, {{"direction", detail::spelling(lstm_direction)}})) {}
};

}  // namespace v5

namespace v6 {

class CTCGreedyDecoderSeqLen : public Node {
  TERROIR_LAYER(CTCGreedyDecoderSeqLen, "CTCGreedyDecoderSeqLen", "opset6")
  CTCGreedyDecoderSeqLen(const Output<Node>& data, const Output<Node>& lengths, bool merge_repeated = true,
                         const element::Type& classes_index_type = element::i32,
                         const element::Type& sequence_length_type = element::i32)
      : CTCGreedyDecoderSeqLen(OutputVector{data, lengths},
                               attributes(merge_repeated, classes_index_type, sequence_length_type)) {}
  CTCGreedyDecoderSeqLen(const Output<Node>& data, const Output<Node>& lengths, const Output<Node>& blank_index,
                         bool merge_repeated = true, const element::Type& classes_index_type = element::i32,
                         const element::Type& sequence_length_type = element::i32)
      : CTCGreedyDecoderSeqLen(OutputVector{data, lengths, blank_index},
                               attributes(merge_repeated, classes_index_type, sequence_length_type)) {}
  bool get_merge_repeated() const { return detail::attribute<bool>(*this, "merge_repeated"); }
  void set_merge_repeated(bool merge_repeated) { detail::set_attribute(*this, "merge_repeated", merge_repeated); }
  const element::Type get_classes_index_type() const {
    return detail::attribute<element::Type>(*this, "classes_index_type");
  }
  void set_classes_index_type(const element::Type& classes_index_type) {
    detail::set_attribute(*this, "classes_index_type", classes_index_type);
  }
  const element::Type get_sequence_length_type() const {
    return detail::attribute<element::Type>(*this, "sequence_length_type");
  }
  void set_sequence_length_type(const element::Type& sequence_length_type) {
    detail::set_attribute(*this, "sequence_length_type", sequence_length_type);
  }

 private:
  static AnyMap attributes(bool merge_repeated, const element::Type& classes_index_type,
                           const element::Type& sequence_length_type) {
    return {{"merge_repeated", merge_repeated},
            {"classes_index_type", classes_index_type},
            {"sequence_length_type", sequence_length_type}};
  }
};

}  // namespace v6
}  // namespace op
}  // namespace terroir
