#include "shoal/base/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "shoal/base/load_of_others.h"

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

TEST(Machine, RemembersThePeak) {
  constexpr size_t kBytes = size_t{64} << 20;
  {
    const std::vector<char> large(kBytes, 'x');
    EXPECT_EQ(std::memchr(large.data(), 'y', large.size()), nullptr);
  }
  EXPECT_GE(peak_memory_bytes(), kBytes);
}

// How much that is depends on the others.
TEST(LoadOfOthers, IsNeverNegative) { EXPECT_GE(load_of_others(std::chrono::milliseconds(1)), 0); }

}  // namespace
}  // namespace shoal
