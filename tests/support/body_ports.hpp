#pragma once
// What: ports of the bodies of TensorIterator and Loop, for tests.
#include "ir/graph/graph.hpp"

namespace terroir::test {

inline ir::BodyPortMap::Input fed(int64_t port, ir::Value parameter) {
  ir::BodyPortMap::Input input;
  input.external_port = port;
  input.parameter = parameter.node;
  return input;
}

/// The port in parts along an axis; a negative stride walks from the end.
template <class Port>
Port in_parts(Port port, int64_t axis, int64_t stride, int64_t part_size) {
  port.axis = axis;
  port.start = stride < 0 ? -1 : 0;
  port.end = stride < 0 ? 0 : -1;
  port.stride = stride;
  port.part_size = part_size;
  return port;
}

inline ir::BodyPortMap::Input sliced(int64_t port, ir::Value parameter, int64_t axis, int64_t stride,
                                     int64_t part_size) {
  return in_parts(fed(port, parameter), axis, stride, part_size);
}

inline ir::BodyPortMap::Output given(int64_t port, ir::NodeId result) {
  ir::BodyPortMap::Output output;
  output.external_port = port;
  output.result = result;
  return output;
}

inline ir::BodyPortMap::Output joined(int64_t port, ir::NodeId result, int64_t axis, int64_t stride,
                                      int64_t part_size) {
  return in_parts(given(port, result), axis, stride, part_size);
}

}  // namespace terroir::test
