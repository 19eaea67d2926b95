#include "tests/ops/case_file.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir::test {
namespace {

using terroir::detail::trim;

struct Line {
  int number = 0;
  std::string text;  // trimmed, without comment
};

/// Without the part from a '#' on that stands outside quotes and begins a word.
std::string_view without_comment(std::string_view text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '#' && !quoted && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) return text.substr(0, i);
  }
  return text;
}

std::vector<Line> logical_lines(std::string_view text) {
  std::vector<Line> lines;
  bool joined = false;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // A regular expression may contain '#', and ends where its line ends.
    const bool is_error = trim(raw).starts_with("error:") || trim(raw).starts_with("run_error:");
    std::string_view part = trim(is_error ? raw : without_comment(raw));
    if (part.empty()) continue;
    const bool goes_on = !is_error && (part.back() == ',' || part.back() == '\\');
    if (part.back() == '\\' && goes_on) part = trim(part.substr(0, part.size() - 1));
    if (joined)
      lines.back().text += ' ' + std::string(part);
    else
      lines.push_back({number, std::string(part)});
    joined = goes_on;
  }
  return lines;
}

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw_error(ErrorCode::parse_error, parts...);
}

/// Items between commas, quotes respected, "3*x" expanded.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values;
  text = trim(text);
  while (!text.empty()) {
    bool quoted = false;
    size_t end = 0;
    while (end < text.size() && (quoted || text[end] != ',')) quoted ^= text[end++] == '"';
    std::string_view item = trim(text.substr(0, end));
    if (item.empty()) refuse("an empty value between commas");
    size_t copies = 1;
    if (const size_t star = item.find('*'); star != std::string_view::npos && item.front() != '"') {
      const std::string_view factor = trim(item.substr(0, star));
      const auto parsed = std::from_chars(factor.data(), factor.data() + factor.size(), copies);
      if (parsed.ec != std::errc{} || parsed.ptr != factor.data() + factor.size())
        refuse("'", factor, "' before '*' is not a count");
      item = trim(item.substr(star + 1));
    }
    values.insert(values.end(), copies, std::string(item));
    if (end < text.size() && trim(text.substr(end + 1)).empty()) refuse("a comma without a value after it");
    text = end < text.size() ? trim(text.substr(end + 1)) : std::string_view();
  }
  return values;
}

/// "f32[1,?,3] = 1, 2, 3".
CaseTensor parse_tensor(std::string_view text, int line) {
  CaseTensor tensor;
  tensor.line = line;
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    refuse("expected type[extents], found '", text, "'");
  tensor.type = element::Type(std::string(trim(text.substr(0, open))));
  tensor.shape = PartialShape(std::string(text.substr(open, close - open + 1)));
  const std::string_view rest = trim(text.substr(close + 1));
  if (rest.empty()) return tensor;
  if (rest.front() != '=') refuse("expected '=' and values after the shape, found '", rest, "'");
  tensor.values = split_values(rest.substr(1));
  return tensor;
}

/// `strides=2,2 mode="a b"`.
std::vector<std::pair<std::string, std::string>> parse_attributes(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> attributes;
  text = trim(text);
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) refuse("expected name=value, found '", text, "'");
    const std::string name(trim(text.substr(0, equals)));
    if (name.empty() || name.find(' ') != std::string::npos) refuse("'", name, "' is not an attribute's name");
    text.remove_prefix(equals + 1);
    std::string value;
    if (text.starts_with('"')) {
      const size_t end = text.find('"', 1);
      if (end == std::string_view::npos) refuse("the value of ", name, " has no closing quote");
      value = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
    } else {
      const size_t end = std::min(text.find_first_of(" \t"), text.size());
      value = text.substr(0, end);
      text.remove_prefix(end);
    }
    attributes.emplace_back(name, std::move(value));
    text = trim(text);
  }
  return attributes;
}

double parse_number(std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value < 0)
    refuse("'", text, "' is not a tolerance");
  return value;
}

void finish(const Case& done) {
  if ((done.outputs.empty() ? 0 : 1) + done.error.has_value() + done.run_error.has_value() != 1)
    refuse("a case needs either 'out' lines or one 'error:' or 'run_error:' line");
  if (!done.has_values() && !done.run_error) return;
  for (const CaseTensor& input : done.inputs)
    if (!input.values) refuse("running needs values for every input");
}

class Parser {
 public:
  explicit Parser(std::string file) : file_(std::move(file)) {}

  void line(const Line& line) {
    const size_t blank = std::min(line.text.find_first_of(" \t"), line.text.size());
    const std::string keyword = line.text.substr(0, blank);
    const std::string_view rest = trim(std::string_view(line.text).substr(blank));
    if (keyword == "op") {
      close();
      const size_t dash = rest.rfind('-');
      if (dash == std::string_view::npos || dash == 0 || rest.find(' ') != std::string_view::npos)
        refuse("expected 'op Type-N', found '", line.text, "'");
      op_ = rest;
      return;
    }
    if (keyword == "case") {
      close();
      open(std::string(rest), line.number);
      return;
    }
    if (cases_.empty() || closed_) refuse("'", keyword, "' outside a case");
    Case& current = cases_.back();
    if (keyword == "attrs") {
      for (auto& attribute : parse_attributes(rest)) current.attributes.push_back(std::move(attribute));
    } else if (keyword == "in") {
      current.inputs.push_back(parse_tensor(rest, line.number));
    } else if (keyword == "out") {
      current.outputs.push_back(parse_tensor(rest, line.number));
    } else if (keyword == "tol") {
      const size_t space = std::min(rest.find(' '), rest.size());
      current.tolerance = Tolerance{parse_number(rest.substr(0, space)), parse_number(trim(rest.substr(space)))};
    } else if (keyword == "error:") {
      if (rest.empty()) refuse("'error:' needs a regular expression");
      current.error = rest;
    } else if (keyword == "run_error:") {
      if (rest.empty()) refuse("'run_error:' needs a regular expression");
      current.run_error = rest;
    } else {
      refuse("unknown keyword '", keyword, "'; known are op, case, attrs, in, out, tol, error: and run_error:");
    }
  }

  void close() {
    if (!cases_.empty() && !closed_) finish(cases_.back());
    closed_ = true;
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  void open(std::string name, int number) {
    if (op_.empty()) refuse("'case' before any 'op'");
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_word))
      refuse("the name of a case consists of letters, digits and '_', found '", name, "'");
    if (!names_.insert(op_ + '.' + name).second) refuse("a second case '", name, "' of ", op_);
    Case next;
    next.file = file_;
    next.line = number;
    next.op = op_;
    next.name = std::move(name);
    cases_.push_back(std::move(next));
    closed_ = false;
  }

  std::string file_, op_;
  std::set<std::string> names_;
  std::vector<Case> cases_;
  bool closed_ = true;
};

}  // namespace

bool Case::has_values() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const CaseTensor& out) { return out.values.has_value(); });
}

std::vector<Case> parse_cases(std::string_view text, const std::string& file) {
  Parser parser(file);
  int number = 0;
  try {
    for (const Line& line : logical_lines(text)) {
      number = line.number;
      parser.line(line);
    }
    parser.close();
  } catch (Exception& error) {
    error.add_context(file + ":" + std::to_string(number));
    throw;
  }
  return parser.take();
}

}  // namespace terroir::test
