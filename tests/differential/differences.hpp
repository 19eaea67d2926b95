#pragma once
// What: says where two tensors differ that should not.
#include <string>

#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// What is other in `b` than in `a`, be it the type, the shape or a bit; empty: nothing.
std::string difference_in_bits(const HostTensor& a, const HostTensor& b);

/// The same, but zeros are equal, whatever their sign, and so are all NaNs.
std::string difference_in_values(const HostTensor& a, const HostTensor& b);

}  // namespace terroir::test
