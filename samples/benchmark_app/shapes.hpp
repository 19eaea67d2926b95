// Shapes on the command line, and the batch axis.
#pragma once

#include <map>
#include <string>

#include <terroir/terroir.hpp>

/// "[1,3,224,224]" (for every input) or "data[1,3,?,?],mask[1,10]": shape per input name, "" standing for all.
/// Throws std::runtime_error for another text.
std::map<std::string, terroir::PartialShape> parse_shapes(const std::string& text);

/// The shape the text of --shape or --data_shape gives to a port, or its own.
terroir::PartialShape shape_for(const terroir::Output<const terroir::Node>& port,
                                const std::map<std::string, terroir::PartialShape>& shapes);

/// Throws std::runtime_error if a name in `shapes` is that of no input.
void check_names(const terroir::Model& model, const std::map<std::string, terroir::PartialShape>& shapes);

/// The axis that counts samples: N of the port's layout; if it has none, the first of two or more. -1: there is none.
int64_t batch_axis(const terroir::Output<const terroir::Node>& port);
