// Allocations that fail, one after the other, while a program asks for what needs memory: each is an error of the
// library, after which everything works as before.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <ostream>
#include <streambuf>

#include "terroir/terroir.hpp"
#include "tests/support/small_network.hpp"

namespace {

thread_local int64_t until_failure = -1;  // allocations; negative: none fails

void* allocate_or_null(std::size_t bytes) noexcept {
  if (until_failure >= 0 && until_failure-- == 0) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

}  // namespace

// Those that come in pairs: a sanitizer has the others for itself.
void* operator new(std::size_t bytes) {
  void* const memory = allocate_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace terroir {
namespace {

/// Keeps nothing: other streams swallow what their memory throws.
class Nowhere : public std::streambuf {
 protected:
  int_type overflow(int_type letter) override { return traits_type::not_eof(letter); }
  std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
};

/// Runs `body` with one failing allocation after the other, until it has no more of them.
void expect_errors(const std::function<void()>& body, const std::string& text) {
  int64_t failures = 0;
  for (int64_t at = 0;; at += 1 + at / 16) {
    until_failure = at;
    try {
      body();
      if (until_failure >= 0) break;  // it needs fewer
    } catch (const Exception& error) {
      until_failure = -1;
      ++failures;
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      until_failure = -1;
      FAIL() << error.what() << " at allocation " << at;
    }
  }
  until_failure = -1;
  EXPECT_GT(failures, 0);
}

TEST(ShortMemory, IsAnErrorThatSaysWhatForAndOfWhichModel) {
  Core core;
  const auto model = network();
  CompiledModel compiled = core.compile_model(model, "CPU");
  expect_errors([&] { static_cast<void>(model->clone()); }, "no memory to clone the model 'network'");
  const PartialShape larger{1, 3, 48, 48};
  expect_errors([&] { model->reshape(larger); }, "no memory to reshape the model 'network'");
  EXPECT_EQ(model->input().get_partial_shape(), larger);
  Nowhere nowhere;
  std::ostream xml(&nowhere), bin(&nowhere), exported(&nowhere);
  expect_errors([&] { serialize(model, xml, bin); }, "no memory to write the model 'network'");
  expect_errors([&] { compiled.export_model(exported); }, "no memory to export the model 'network'");
  expect_errors([&] { compiled.create_infer_request(); }, "no memory for a request of the model 'network'");
  const AnyMap latency{hint::performance_mode(hint::PerformanceMode::LATENCY)};
  expect_errors([&] { core.set_property(latency); }, "no memory to set properties of 'Core'");
  expect_errors([&] { core.set_property("CPU", latency); }, "no memory to set properties of 'CPU'");
  compiled.create_infer_request().infer();
}

}  // namespace
}  // namespace terroir
