#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

TEST(Pool, Agrees) {
  std::mt19937 rng(1);
  for (const Operator* op : {&ops::max_pool, &ops::average_pool}) {
    SCOPED_TRACE(op->name);
    expect_agreement(*op, {random_floats(rng, {1, 64, 56, 56})},
                     {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, "rows");
    expect_agreement(*op, {random_floats(rng, {2, 5, 31, 29})},
                     {{"kernel_shape", Ints{3, 3}},
                      {"strides", Ints{2, 1}},
                      {"pads", Ints{1, 1, 1, 1}},
                      {"ceil_mode", int64_t{1}}},
                     "rows");
    expect_agreement(*op, {random_floats(rng, {2, 3, 7, 13, 13})},
                     {{"kernel_shape", Ints{2, 3, 3}}, {"pads", Ints{0, 1, 1, 1, 0, 1}}}, "rows");
    expect_agreement(*op, {random_floats(rng, {1, 9, 100})}, {{"kernel_shape", Ints{5}}}, "rows");
  }
  expect_agreement(ops::average_pool, {random_floats(rng, {1, 4, 20, 20})},
                   {{"kernel_shape", Ints{3, 3}},
                    {"strides", Ints{2, 2}},
                    {"pads", Ints{1, 1, 1, 1}},
                    {"ceil_mode", int64_t{1}},
                    {"count_include_pad", int64_t{1}}},
                   "rows");
}

TEST(GlobalPool, Agrees) {
  std::mt19937 rng(1);
  expect_agreement(ops::global_average_pool, {random_floats(rng, {2, 70, 57, 57})}, {}, "planes");
  expect_agreement(ops::global_average_pool, {random_floats(rng, {1, 3, 5})}, {}, "planes");
}

}  // namespace
}  // namespace shoal::cpu
