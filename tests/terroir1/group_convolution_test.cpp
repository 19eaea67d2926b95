// The layers of the operation page GroupConvolution-1 as IR files: 1-D and 2-D at the page's extents, 3-D at smaller
// ones (the page's would take 4 GiB and more).
#include <gtest/gtest.h>

#include "tests/terroir1/layer_model.hpp"
#include "tests/terroir1/oracle.hpp"

namespace terroir::test {
namespace {

void expect_page_layer(const std::vector<int64_t>& spatial) {
  const auto axes = [&](int64_t value) { return std::vector<int64_t>(spatial.size(), value); };
  std::vector<int64_t> input = {1, 12}, kernel = {4, 1, 3}, output = {1, 4};
  for (const int64_t extent : spatial) {
    input.push_back(extent);
    kernel.push_back(5);
    output.push_back(extent);
  }
  const Layer layer{"GroupConvolution",
                    "opset1",
                    {{"dilations", text(axes(1))},
                     {"pads_begin", text(axes(2))},
                     {"pads_end", text(axes(2))},
                     {"strides", text(axes(1))},
                     {"auto_pad", "explicit"}},
                    eighths(kernel, 1),
                    {}};
  const Array x = eighths(input, 2);
  Convolution problem;
  problem.group = 4;
  problem.strides = problem.dilations = axes(1);
  problem.pads_begin = problem.pads_end = axes(2);
  problem.output_padding = axes(0);
  Array filter = layer.filter;
  filter.dims.erase(filter.dims.begin() + 1);  // [4 groups, 1, 3, kernel] is [4, 3, kernel]
  const Array expected = convolve(problem, x, filter, {});
  ASSERT_EQ(expected.dims, output);
  const auto model = model_from_file(input, element::f32, {layer}, {output});
  for (const char* device : {"INTERPRETER", "CPU"}) {
    SCOPED_TRACE(device);
    const Outcome result = run(model, device, 2, x);
    EXPECT_EQ(difference(expected, result.outputs.at(0), 1e-5), "");
    EXPECT_TRUE(result.references.empty());
  }
}

TEST(GroupConvolutionPage, OneAxis) { expect_page_layer({224}); }
TEST(GroupConvolutionPage, TwoAxes) { expect_page_layer({224, 224}); }
TEST(GroupConvolutionPage, ThreeAxes) { expect_page_layer({11, 14, 17}); }

}  // namespace
}  // namespace terroir::test
