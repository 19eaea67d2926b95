// What one layer of an executed model cost.
#pragma once

#include <chrono>
#include <string>

#include "terroir/export.hpp"

namespace terroir {

struct ProfilingInfo {
  enum class Status {
    NOT_RUN,        ///< not executed in the last inference
    OPTIMIZED_OUT,  ///< removed or merged into another layer while compiling
    EXECUTED
  };
  Status status = Status::NOT_RUN;
  std::chrono::microseconds real_time{};  ///< wall clock time
  std::chrono::microseconds cpu_time{};   ///< processor time; equal to real_time where it is not measured apart
  std::string node_name;                  ///< the name of the layer in the user's file
  std::string exec_type;                  ///< the implementation, e.g. "f32_conv_direct_nChw8c__avx2"
  std::string node_type;                  ///< the type of the layer, e.g. "Convolution"
  /// Why a layer exists that only moves data between two memory layouts, with its bytes and its estimated cost, or why
  /// a layer runs slowly. Empty for others.
  std::string details;
};

}  // namespace terroir
