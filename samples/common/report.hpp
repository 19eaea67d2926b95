// What samples print about models and results.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include <terroir/terroir.hpp>

namespace samples {

/// "[ INFO ] " on the standard output, for one line.
std::ostream& info();
/// "[ WARNING ] " on the standard output, for one line.
std::ostream& warning();

/// "f32[1,3,224,224]".
std::string text(const terroir::Output<const terroir::Node>& port);
/// A name for people: that of the tensor, or else that of the layer.
std::string name(const terroir::Output<const terroir::Node>& port);

/// Name, inputs and outputs of the model.
void print_model(const terroir::Model& model);

/// The `count` largest values of each row of `scores` ([N, classes], or with further axes of extent 1), largest first,
/// as OpenVINO's samples print them. Throws std::runtime_error for another shape or type.
void print_top_results(const terroir::Tensor& scores, size_t count, const std::string& title);

}  // namespace samples
