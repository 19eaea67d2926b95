// What a library says of its layers, read through the C interface, before anything of it runs.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <terroir/extension_abi.h>
#include <terroir/terroir.hpp>

namespace check {

/// Throws std::runtime_error that names the file.
const terroir_extension& open_extension(const std::string& path);

using Random = std::mt19937_64;

inline int64_t between(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

/// Types that the layer says an input may have, of those this program makes values for.
std::vector<terroir::element::Type> input_types(const terroir_layer& layer);

/// Allowed values of some attributes, the required ones among them.
terroir::AnyMap some_attributes(const terroir_layer& layer, Random& random);

/// "alpha=0.5, mode=floor", or "no attributes".
std::string text_of(const terroir::AnyMap& attributes);

}  // namespace check
