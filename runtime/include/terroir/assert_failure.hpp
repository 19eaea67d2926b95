// Kinds of Exception by which programs tell what they did wrong from what went wrong.
#pragma once

#include <string>

#include "terroir/exception.hpp"

namespace terroir {

/// What the program, or its file, says cannot be: codes parse_error, invalid_argument, not_found, shape_mismatch and
/// type_mismatch.
class TERROIR_API AssertFailure : public Exception {
 public:
  using Exception::Exception;
  ~AssertFailure() override;
};

/// The same, said by the layer that cannot be inferred.
class TERROIR_API NodeValidationFailure : public AssertFailure {
 public:
  using AssertFailure::AssertFailure;
  explicit NodeValidationFailure(const AssertFailure& failure) : AssertFailure(failure) {}
  ~NodeValidationFailure() override;
};

}  // namespace terroir
