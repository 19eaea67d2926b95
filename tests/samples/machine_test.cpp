// The peak of the machine, what it was busy with, and which of that is worth a warning.
#include "samples/benchmark_app/machine.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace benchmark_app {
namespace {

TEST(PeakFlops, IsWhatAProcessorCanDo) {
  const double one = measure_peak_flops(1);
  EXPECT_GT(one, 1e8);     // also under a sanitizer
  EXPECT_LT(one, 1.5e12);  // 2 units of 16 lanes, 2 operations each, at 10 GHz are 0.64e12
}

TEST(RunnableThreads, SeesThreadsThatWantToRun) {
  RunnableThreads looking;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end) {
  }
  const auto mean = looking.mean();
  if (!mean) GTEST_SKIP() << "the system does not tell";
  EXPECT_GE(*mean, 0.5);  // this one, at least
}

TEST(Memory, GrowsWithWhatIsTouched) {
  const Memory before = Memory::now();
  if (before.resident == 0) GTEST_SKIP() << "the system does not tell";
  const std::vector<char> block(64 << 20, 1);
  const Memory after = Memory::now();
  EXPECT_GE(after.resident - before.resident, block.back() * (60 << 10));
  EXPECT_GE(after.peak_resident, after.resident);
  EXPECT_GE(after.peak_virtual, after.peak_resident);
}

Conditions quiet() {
  Conditions c;
  c.processors = 4;
  c.threads = 4;
  c.peak_begin = c.peak_end = 1e11;
  c.seconds = 10;
  c.runnable = 4.5;
  c.latency_drift = 1.02;
  c.steal = 0.001;
  return c;
}

/// The only warning of the conditions.
std::string warning_of(const Conditions& c) {
  const auto texts = warnings(c);
  EXPECT_EQ(texts.size(), 1u);
  return texts.empty() ? "" : texts.front();
}

TEST(Warnings, AreNotGivenWithoutNeed) {
  EXPECT_TRUE(warnings(quiet()).empty());
  EXPECT_TRUE(warnings(Conditions()).empty());  // where the system tells nothing
  Conditions faster = quiet();
  faster.peak_end = 2e11;
  faster.latency_drift = 0.5;
  EXPECT_TRUE(warnings(faster).empty());
}

TEST(Warnings, TellWhatHappened) {
  Conditions c = quiet();
  c.peak_end = 0.8e11;
  EXPECT_EQ(warning_of(c), "throttling: the processor computes 20 % slower at the end of the run than at its begin");
  c = quiet();
  c.latency_drift = 1.25;
  EXPECT_EQ(warning_of(c), "drift: inferences at the end take 25 % longer than those at the begin");
  c = quiet();
  c.threads = 5;
  EXPECT_EQ(warning_of(c), "oversubscription: the model uses 5 threads, the machine has 4 processors");
  c = quiet();
  c.runnable = 6.04;
  EXPECT_EQ(warning_of(c),
            "oversubscription: 6.0 threads wanted to run on 4 processors; other programs take time from this one");
  c = quiet();
  c.steal = 0.12;
  EXPECT_EQ(warning_of(c), "oversubscription: the hypervisor gave 12 % of the processors' time to other machines");
  c = quiet();
  c.throttled_seconds = 2.5;
  EXPECT_EQ(warning_of(c), "throttling: the control group's limit stopped this process for 2.5 s");
}

}  // namespace
}  // namespace benchmark_app
