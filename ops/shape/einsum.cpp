#include "ops/shape/einsum.hpp"

#include <algorithm>
#include <map>

#include "ir/base/error.hpp"

namespace terroir::ops {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string label_text(EinsumLabel label) {
  return label < 256 ? concat("axis '", static_cast<char>(label), "'") : "an axis of the ellipsis";
}

}  // namespace

size_t EinsumEquation::ellipsis_of(const EinsumLabels& labels) {
  const auto found = std::find(labels.begin(), labels.end(), kEllipsis);
  return found == labels.end() ? kNone : static_cast<size_t>(found - labels.begin());
}

EinsumLabels EinsumEquation::parse_subscript(std::string_view text, bool is_output) const {
  const auto fail = [&](const auto&... parts) {
    throw_error(ErrorCode::parse_error, "equation '", text_, "': ", parts...);
  };
  EinsumLabels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (text.substr(i, 3) != "...") fail("an ellipsis is three dots");
      if (ellipsis_of(labels) != kNone) fail("more than one ellipsis in '", text, "'");
      labels.push_back(kEllipsis);
      i += 2;
    } else if (is_letter(text[i])) {
      if (is_output && std::find(labels.begin(), labels.end(), text[i]) != labels.end())
        fail("the output names axis '", text[i], "' twice");
      labels.push_back(text[i]);
    } else {
      fail("unexpected character '", text[i], "'");
    }
  }
  return labels;
}

EinsumEquation::EinsumEquation(std::string_view text) : text_(text) {
  std::string plain(text);
  std::erase(plain, ' ');
  const size_t arrow = plain.find("->");
  const std::string_view left = std::string_view(plain).substr(0, arrow);
  for (size_t begin = 0;;) {
    const size_t comma = left.find(',', begin);
    inputs_.push_back(parse_subscript(left.substr(begin, comma - begin), false));
    if (comma == std::string_view::npos) break;
    begin = comma + 1;
  }
  std::map<EinsumLabel, int> counts;
  for (const EinsumLabels& labels : inputs_)
    for (EinsumLabel label : labels) ++counts[label];
  if (arrow != std::string::npos) {
    output_ = parse_subscript(std::string_view(plain).substr(arrow + 2), true);
    for (EinsumLabel label : output_)
      if (counts[label] == 0)
        throw_error(ErrorCode::parse_error, "equation '", text_, "': the output names ",
                    label == kEllipsis ? "an ellipsis" : label_text(label), ", no input does");
    return;
  }
  // In order of their codes: the ellipsis, then capitals, then small letters.
  for (const auto& [label, count] : counts)
    if (label == kEllipsis || count == 1) output_.push_back(label);
}

EinsumLabels EinsumEquation::expand(const EinsumLabels& labels, int64_t ellipsis_rank) {
  EinsumLabels result;
  for (EinsumLabel label : labels) {
    if (label != kEllipsis) {
      result.push_back(label);
    } else {
      for (int64_t k = ellipsis_rank; k-- > 0;) result.push_back(static_cast<EinsumLabel>(256 + k));
    }
  }
  return result;
}

int64_t EinsumEquation::ellipsis_rank(size_t operand, int64_t rank) const {
  const EinsumLabels& labels = inputs_.at(operand);
  const bool dots = ellipsis_of(labels) != kNone;
  const auto letters = static_cast<int64_t>(labels.size()) - (dots ? 1 : 0);
  if (rank < letters || (!dots && rank != letters))
    throw_error(ErrorCode::shape_mismatch, "equation '", text_, "': operand ", operand, " must have rank ", letters,
                dots ? " or more" : "", ", got ", rank);
  return rank - letters;
}

EinsumLabels EinsumEquation::input_labels(size_t operand, int64_t rank) const {
  return expand(inputs_.at(operand), ellipsis_rank(operand, rank));
}

PartialShape einsum_shape(const EinsumEquation& equation, const std::vector<PartialShape>& shapes) {
  if (shapes.size() != equation.operands())
    throw_error(ErrorCode::invalid_argument, "the equation has ", equation.operands(), " operands, the layer ",
                shapes.size());
  std::map<EinsumLabel, Dimension> extents;
  int64_t ellipsis_rank = 0;
  bool ellipsis_known = true;
  bool all_known = true;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].rank().is_dynamic()) {
      all_known = false;
      ellipsis_known = ellipsis_known && !equation.input_has_ellipsis(i);
      continue;
    }
    const auto rank = static_cast<int64_t>(shapes[i].size());
    ellipsis_rank = std::max(ellipsis_rank, equation.ellipsis_rank(i, rank));
    const EinsumLabels labels = equation.input_labels(i, rank);
    // Within one operand equal names mean a diagonal, whose extents are equal; between operands they broadcast.
    std::map<EinsumLabel, Dimension> own;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      const Dimension& extent = shapes[i][static_cast<std::ptrdiff_t>(axis)];
      const auto [found, is_new] = own.emplace(labels[axis], extent);
      if (!is_new && !Dimension::merge(found->second, found->second, extent))
        throw_error(ErrorCode::shape_mismatch, label_text(labels[axis]), " of operand ", i, " has the extents ",
                    found->second, " and ", extent);
    }
    for (const auto& [label, extent] : own) {
      const auto [found, is_new] = extents.emplace(label, extent);
      if (!is_new && !Dimension::broadcast_merge(found->second, found->second, extent))
        throw_error(ErrorCode::shape_mismatch, label_text(label), " has the extents ", found->second, " and ", extent);
    }
  }
  if (equation.output_has_ellipsis() && !ellipsis_known) return PartialShape::dynamic();
  std::vector<Dimension> result;
  for (EinsumLabel label : equation.output_labels(ellipsis_rank)) {
    const auto found = extents.find(label);
    // An operand of unknown rank may stretch any axis that is, or may be, 1.
    if (found == extents.end()) {
      result.emplace_back();
    } else if (!all_known && found->second.compatible(1)) {
      result.emplace_back();
    } else {
      result.push_back(found->second);
    }
  }
  return result;
}

}  // namespace terroir::ops
