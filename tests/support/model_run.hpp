#pragma once
// What: whole models through the public API, and how their outputs are judged.
#include <filesystem>
#include <string>
#include <terroir/terroir.hpp>
#include <vector>

#include "tests/support/compare.hpp"
#include "tests/support/npy.hpp"

namespace terroir::test {

/// The folder with models/ and zoo/, or an empty path.
std::filesystem::path shared_folder();

/// The same elements, in a tensor of the public API.
Tensor to_tensor(const HostTensor& host);
ir::TensorView view_of(const Tensor& tensor);

/// The inputs that expected outputs were made with: real element i is ((i * 2654435761 mod 65536) / 65536 - 0.5) * 2,
/// integer element i is i mod 1000.
Tensor counted_input(const element::Type& type, const Shape& shape);

/// Runs once with these inputs, in the order of the model's inputs.
std::vector<Tensor> infer(CompiledModel& compiled, const std::vector<Tensor>& inputs);

/// Empty when every element is within `relative` times the largest expected magnitude, else where it is worst.
std::string difference_to_scale(const ir::TensorView& expected, const ir::TensorView& actual, double relative);

/// Why tests of `device` cannot run here: the build has no such device, or the processor not the instruction set that
/// TERROIR_FORCE_ISA asks for. Else empty.
std::string missing_device(Core& core, const std::string& device);

}  // namespace terroir::test
