#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

using ops::axis_in;

// Rows of one, two, three and four floats, long ones, a single one, and none.
const std::pair<Shape, int64_t> kCases[] = {
    {{4420, 1}, 1},     {{2, 300, 2}, -1},    {{7, 3}, 1},     {{5000, 4}, -1},
    {{2, 21, 9, 9}, 1}, {{1, 48, 40, 40}, 1}, {{3, 2, 40}, 0}, {{2, 0, 3}, 2}};

TEST(Join, ConcatAgrees) {
  std::mt19937 rng(1);
  for (const auto& [shape, axis] : kCases) {
    SCOPED_TRACE(to_string(shape));
    const size_t along = axis_in(axis, shape.rank());
    Shape longer = shape, empty = shape;
    longer[along] += 3;
    empty[along] = 0;
    expect_agreement(ops::concat,
                     {random_floats(rng, shape), random_floats(rng, longer),
                      random_floats(rng, empty), random_floats(rng, shape)},
                     {{"axis", axis}}, "rows", 0);
    expect_agreement(ops::concat,
                     {random_bytes(rng, DType::kU8, longer), random_bytes(rng, DType::kU8, shape)},
                     {{"axis", axis}}, "rows");
  }
}

TEST(Join, SplitAgrees) {
  std::mt19937 rng(2);
  for (const auto& [shape, axis] : kCases) {
    SCOPED_TRACE(to_string(shape));
    const int64_t length = shape[axis_in(axis, shape.rank())], first = length / 3;
    for (const Tensor& x : {random_floats(rng, shape), random_bytes(rng, DType::kI8, shape)}) {
      Graph graph;
      const ValueId whole = graph.add_input("x", x.type());
      const ValueId sizes =
          graph.add_constant("sizes", Tensor::of<int64_t>({3}, {first, 0, length - first}));
      const auto parts =
          graph.add_node(ops::split_, {whole, sizes}, {{"axis", axis}}, {"a", "b", "c"}, "");
      ASSERT_TRUE(parts.ok()) << parts.status().message();
      for (ValueId part : *parts) graph.mark_output(part);
      expect_agreement_of(graph, {x}, "rows", 0);
    }
  }
}

}  // namespace
}  // namespace shoal::cpu
