#include "tests/passes/compared_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace terroir::test {

namespace {

// None of a tensor without elements, which has no address either.
std::span<const std::byte> bytes_of(const HostTensor& tensor) {
  return {static_cast<const std::byte*>(tensor.view().data), tensor.view().bytes()};
}

}  // namespace

void expect_same_bits(const ir::Graph& graph, const ir::Graph& other, std::span<const std::vector<HostTensor>> inputs) {
  for (const cpu::Isa isa : {cpu::Isa::sse42, cpu::Isa::avx2, cpu::Isa::avx512}) {
    if (!cpu::isa_available(isa)) continue;
    const auto expected = run_on_cpu(other, isa, 1, inputs);
    for (const int threads : {1, 2, 3, 5, 15}) {
      const auto got = run_on_cpu(graph, isa, threads, inputs);
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_TRUE(std::ranges::equal(bytes_of(got[i][0]), bytes_of(expected[i][0])))
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
