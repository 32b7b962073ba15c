#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/cpu/layout/blocked.h"

namespace shoal::cpu {
namespace {

// Planes of one pixel, of a few, of more than a square of the transposition, and of a power of two;
// channels that fill their blocks, and that do not.
const Shape kImages[] = {{1, 16, 8, 8},  {2, 21, 7, 5},  {3, 3, 1, 1},   {1, 5, 40, 33},
                         {2, 48, 1, 37}, {1, 70, 9, 31}, {1, 21, 16, 32}};

TEST(Reorder, Agrees) {
  std::mt19937 rng(1);
  for (const Shape& shape : kImages) {
    for (const int64_t block : {1, 4, 8, 16}) {
      SCOPED_TRACE(to_string(shape) + " in blocks of " + std::to_string(block));
      const Shape blocked = blocked_shape(shape, block);
      const Attributes in{{"block", block}}, out{{"channels", shape[1]}};
      expect_agreement(block_channels, {random_floats(rng, shape)}, in, "reorder", 0);
      expect_agreement(unblock_channels, {random_floats(rng, blocked)}, out, "reorder", 0);
      for (const DType type : {DType::kU8, DType::kI8}) {
        expect_agreement(block_channels, {random_bytes(rng, type, shape)}, in, "reorder");
        expect_agreement(unblock_channels, {random_bytes(rng, type, blocked)}, out, "reorder");
      }
    }
  }
}

}  // namespace
}  // namespace shoal::cpu
