#include "shoal/base/machine/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace shoal {
namespace {

TEST(Machine, IsDescribed) {
  const Machine machine = describe_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GT(machine.memory_bytes, uint64_t{1} << 20);
  EXPECT_GT(machine.free_bytes, 0u);
  EXPECT_LE(machine.free_bytes, machine.memory_bytes);
  EXPECT_GE(machine.load, 0);
}

TEST(Machine, HasAName) { EXPECT_FALSE(host_name().empty()); }

TEST(Machine, RemembersThePeak) {
  constexpr size_t kBytes = size_t{64} << 20;
  {
    const std::vector<char> large(kBytes, 'x');
    EXPECT_EQ(std::memchr(large.data(), 'y', large.size()), nullptr);
  }
  EXPECT_GE(peak_memory_bytes(), kBytes);
}

TEST(Machine, CountsThreadsThatRun) {
  constexpr int kBusy = 3;
  std::atomic<bool> over = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < kBusy; ++i) {
    busy.emplace_back([&] {
      while (!over) {
      }
    });
  }
  // A thread that was just started may not have run yet.
  int most = 0;
  for (int i = 0; i < 100'000 && most <= kBusy; ++i) most = std::max(most, runnable_threads());
  over = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_GT(most, kBusy);
}

// How much that is depends on the others.
TEST(LoadOfOthers, IsNeverNegative) { EXPECT_GE(load_of_others(std::chrono::milliseconds(1)), 0); }

}  // namespace
}  // namespace shoal
