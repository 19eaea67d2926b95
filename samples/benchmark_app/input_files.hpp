// What -i says: which files, or what else, each input is filled with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "benchmark_app/per_input.hpp"
#include "common/model_inputs.hpp"

namespace benchmark_app {

struct Input;

/// One thing that tensors are filled with.
struct Source {
  enum class Kind { image, npy, bin, random, image_info };
  Kind kind;
  std::string text;                     // path of a file, else the word of the command line
  std::optional<samples::Range> range;  // of random values

  bool is_file() const { return kind == Kind::image || kind == Kind::npy || kind == Kind::bin; }
};

/// Takes the arguments of -i apart and gives each input its sources, at most 20 files; folders stand for the files in
/// them that have a known extension. Files without the name of an input are dealt out: pictures to the inputs that are
/// pictures, the others to the rest. Throws std::runtime_error: no such file or input, or a file nothing is made of.
void assign_sources(const std::vector<std::string>& arguments, const Ports& ports, std::vector<Input>& inputs);

}  // namespace benchmark_app
