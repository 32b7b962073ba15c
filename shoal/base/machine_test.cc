#include "shoal/base/machine.h"

#include <gtest/gtest.h>

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

TEST(Machine, RemembersThePeak) {
  const uint64_t before = peak_memory_bytes();
  EXPECT_GT(before, uint64_t{1} << 20);
  { std::vector<char> large(size_t{64} << 20, 'x'); }
  EXPECT_GE(peak_memory_bytes(), before + (uint64_t{32} << 20));
}

}  // namespace
}  // namespace shoal
