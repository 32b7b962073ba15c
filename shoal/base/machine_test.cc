#include "shoal/base/machine.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace shoal
