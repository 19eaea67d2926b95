#include "ir/base/short_memory.hpp"

namespace terroir {

void with_memory_for(const char* what, const std::string& name, FunctionRef<void()> body) {
  with_memory([&] { return concat(what, " '", name, "'"); }, body);
}

}  // namespace terroir
