#include "ir/base/log.hpp"
#include "terroir/log.hpp"

namespace terroir {

void util::set_log_callback(const std::function<void(std::string_view)>& callback) {
  set_log_sink(callback ? callback : [](std::string_view) {});
}
void util::reset_log_callback() { set_log_sink({}); }

}  // namespace terroir
