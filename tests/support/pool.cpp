#include "tests/support/pool.hpp"

#include <memory>

#include "runtime/plugin/threading.hpp"

namespace terroir::test {

void use_threads(plugin::Config& config, int threads) {
  config.threads = threads;
  config.streams = 1;
  if (plugin::thread_budget(config) < threads) config.executor = std::make_shared<Pool>(threads);
}

}  // namespace terroir::test
