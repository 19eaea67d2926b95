#include "tests/passes/compared_runs.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace terroir::test {

namespace {

// By memcmp(): this file is not optimised, and a loop over millions of bytes would be what the tests take longest for.
bool same_bytes(const HostTensor& a, const HostTensor& b) {
  const size_t bytes = a.view().bytes();
  if (bytes != b.view().bytes()) return false;
  return bytes == 0 || std::memcmp(a.view().data, b.view().data, bytes) == 0;  // without elements there is no address
}

}  // namespace

void expect_same_bits(const ir::Graph& graph, const ir::Graph& other, std::span<const std::vector<HostTensor>> inputs) {
  for (const cpu::Isa isa : {cpu::Isa::sse42, cpu::Isa::avx2, cpu::Isa::avx512}) {
    if (!cpu::isa_available(isa)) continue;
    const auto expected = run_on_cpu(other, isa, 1, inputs);
    for (const int threads : {1, 2, 3, 5, 15}) {
      const auto got = run_on_cpu(graph, isa, threads, inputs);
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_TRUE(same_bytes(got[i][0], expected[i][0]))
            << cpu::isa_name(isa) << ", " << threads << " threads, inference " << i;
    }
  }
}

std::pair<std::string, Tensor> run_once(CompiledModel compiled, const std::string& layer) {
  InferRequest request = compiled.create_infer_request();
  for (const auto& input : compiled.inputs()) {
    Tensor tensor = request.get_tensor(input);
    for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = static_cast<float>(i % 7);
  }
  request.infer();
  std::string kernel;
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (info.node_name == layer) kernel = info.exec_type;
  return {kernel, request.get_output_tensor()};
}

}  // namespace terroir::test
