// Arrays in NumPy's files.
#pragma once

#include <string>
#include <vector>

#include <terroir/terroir.hpp>

namespace samples {

/// An array as the file has it, row by row.
struct NpyArray {
  terroir::element::Type type;
  terroir::Shape shape;
  std::vector<char> bytes;
};

/// Reads a .npy file, versions 1 to 3: little-endian or one-byte elements, C order. Throws std::runtime_error that
/// names the file. Source: NumPy enhancement proposal 1.
NpyArray load_npy(const std::string& path);

}  // namespace samples
