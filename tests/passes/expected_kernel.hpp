#pragma once
// What: layers that must not fall to their references.
#include <gtest/gtest.h>

#include <string>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

/// The layer `name` runs on a kernel of the device, on the best instruction set of this machine.
inline void expect_kernel(const GraphMaker& m, const std::string& name) {
  const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), name);
  EXPECT_FALSE(kernel.empty() || kernel.starts_with("ref")) << name << " ran as '" << kernel << "'";
}

}  // namespace terroir::test
