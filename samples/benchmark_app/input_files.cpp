#include "benchmark_app/input_files.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "benchmark_app/inputs.hpp"
#include "common/report.hpp"

namespace fs = std::filesystem;

namespace benchmark_app {
namespace {

constexpr size_t kMostFiles = 20;  // per input; they are all in memory

std::string lower_extension(const fs::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

std::optional<Source::Kind> kind_of_file(const fs::path& path) {
  const std::string extension = lower_extension(path);
  if (extension == ".bin") return Source::Kind::bin;
  if (extension == ".npy") return Source::Kind::npy;
  for (const char* image : {".bmp", ".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".tga", ".gif", ".psd"}) {
    if (extension == image) return Source::Kind::image;
  }
  return std::nullopt;
}

bool to_number(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}

/// "random", "random[0..255]" or "image_info".
std::optional<Source> keyword(const std::string& word) {
  if (word == "random") return Source{Source::Kind::random, word, std::nullopt};
  if (word == "image_info") return Source{Source::Kind::image_info, word, std::nullopt};
  if (word.rfind("random[", 0) != 0) return std::nullopt;
  const size_t dots = word.find(".."), begin = std::strlen("random[");
  samples::Range range;
  if (dots == std::string::npos || word.back() != ']' || !to_number(word.substr(begin, dots - begin), range.low) ||
      !to_number(word.substr(dots + 2, word.size() - dots - 3), range.high) || range.low > range.high) {
    throw std::runtime_error("-i: '" + word + "' is not written as random[LOW..HIGH]");
  }
  return Source{Source::Kind::random, word, range};
}

/// Appends the file, or the known files of a folder in the order of their names.
void add_files(const std::string& word, std::vector<Source>& sources) {
  std::error_code error;
  if (fs::is_directory(word, error)) {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(word)) {
      if (entry.is_regular_file() && kind_of_file(entry.path())) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    if (paths.empty()) {
      throw std::runtime_error("-i: the folder '" + word + "' has no files of .bin, .npy, .bmp, .jpg or .png");
    }
    for (const std::string& path : paths) sources.push_back({*kind_of_file(path), path, std::nullopt});
    return;
  }
  if (!fs::exists(word, error)) throw std::runtime_error("-i: there is no file '" + word + "'");
  const auto kind = kind_of_file(word);
  if (!kind) throw std::runtime_error("-i: '" + word + "' is no file of .bin, .npy, .bmp, .jpg or .png");
  sources.push_back({*kind, word, std::nullopt});
}

std::vector<Source> parse_list(const std::string& list) {
  std::vector<Source> sources;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, comma - at);
    if (word.empty()) throw std::runtime_error("-i: '" + list + "' has an empty name of a file");
    if (const auto source = keyword(word)) {
      sources.push_back(*source);
    } else {
      add_files(word, sources);
    }
    at = comma + 1;
  }
  return sources;
}

/// Where "name:" ends; names may have colons themselves. npos: the argument is for any input.
size_t name_length(const std::string& argument, const Ports& ports) {
  for (size_t colon = argument.rfind(':'); colon != std::string::npos && colon > 0;
       colon = argument.rfind(':', colon - 1)) {
    const std::string name = argument.substr(0, colon);
    if (std::any_of(ports.begin(), ports.end(), [&](const auto& port) { return is_called(port, name); })) return colon;
  }
  const size_t colon = argument.find(':');
  std::error_code error;
  if (colon != std::string::npos && !fs::exists(argument.substr(0, argument.find(',')), error)) {
    port_index(ports, argument.substr(0, colon), "-i");  // says which names there are
  }
  return std::string::npos;
}

/// Deals sources out to these inputs like cards.
void deal(const std::vector<Source>& sources, const std::vector<Input*>& takers) {
  for (size_t i = 0; i < sources.size(); ++i) takers[i % takers.size()]->sources.push_back(sources[i]);
}

void deal_unnamed(const std::vector<Source>& sources, std::vector<Input>& inputs) {
  if (sources.empty()) return;
  if (inputs.size() == 1) return deal(sources, {&inputs.front()});
  std::vector<Source> images, others;
  for (const Source& source : sources) (source.kind == Source::Kind::image ? images : others).push_back(source);
  std::vector<Input*> for_images, for_others;
  for (Input& input : inputs) {
    if (!input.sources.empty()) continue;
    (input.is_image() && !images.empty() ? for_images : for_others).push_back(&input);
  }
  for (const auto* group : {&images, &others}) {
    const auto& takers = group == &images ? for_images : for_others;
    if (!group->empty() && takers.empty()) {
      throw std::runtime_error("-i: no input takes '" + group->front().text + "'; say which with NAME:FILE");
    }
  }
  deal(images, for_images);
  deal(others, for_others);
}

}  // namespace

void assign_sources(const std::vector<std::string>& arguments, const Ports& ports, std::vector<Input>& inputs) {
  std::vector<Source> unnamed;
  for (const std::string& argument : arguments) {
    const size_t colon = name_length(argument, ports);
    std::vector<Source>& sources =
        colon == std::string::npos ? unnamed : inputs[port_index(ports, argument.substr(0, colon), "-i")].sources;
    const auto more = parse_list(colon == std::string::npos ? argument : argument.substr(colon + 1));
    sources.insert(sources.end(), more.begin(), more.end());
  }
  deal_unnamed(unnamed, inputs);
  for (Input& input : inputs) {
    if (!input.sources.empty()) {
      samples::info() << "For input '" << input.name << "' " << input.sources.size() << " files were added\n";
    }
    if (input.sources.size() > kMostFiles) {
      samples::warning() << "only the first " << kMostFiles << " files of input '" << input.name << "' are used\n";
      input.sources.resize(kMostFiles);
    }
  }
}

}  // namespace benchmark_app
