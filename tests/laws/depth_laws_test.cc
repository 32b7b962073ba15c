// Removed equals masked, for whole residual blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/residual_blocks.h"

namespace shoal::compress {
namespace {

// The graph with the branches of these blocks multiplied by zero.
Graph masked_blocks(const Graph& graph, const std::vector<ResidualBlock>& blocks,
                    const std::vector<size_t>& numbers) {
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    EXPECT_TRUE(rewriter.copy(node).ok());
    for (size_t number : numbers) {
      if (std::ranges::find(node.outputs, blocks[number].branch) == node.outputs.end()) continue;
      const ValueId zero = rewriter.to().add_constant("zero", Tensor::of<float>({}, {0}));
      const auto nothing = rewriter.to().add(ops::mul, {rewriter.map(blocks[number].branch), zero});
      rewriter.replace(blocks[number].branch, *nothing);
    }
  }
  return *rewriter.finish();
}

// Stages 2 and 3 begin with blocks whose shortcut is no identity.
TEST(ResidualBlocks, RemovedEqualsMaskedOnResNet20) {
  const auto graph = zoo::build("resnet20", {.width = 0.5});
  ASSERT_TRUE(graph.ok());
  const std::vector<ResidualBlock> blocks = residual_blocks(*graph);
  ASSERT_EQ(blocks.size(), 7u);
  const auto device = make_reference_device();
  std::mt19937 rng(1);
  const auto inputs = random_inputs(*graph, rng);
  for (const std::vector<size_t>& numbers :
       {std::vector<size_t>{}, {0}, {6}, {1, 2}, {0, 3, 5}, {0, 1, 2, 3, 4, 5, 6}}) {
    const auto smaller = without_blocks(*graph, blocks, numbers);
    ASSERT_TRUE(smaller.ok()) << smaller.status().message();
    EXPECT_TRUE(verify(*smaller).ok());
    const auto want = answers(masked_blocks(*graph, blocks, numbers), inputs, *device);
    const auto got = answers(*smaller, inputs, *device);
    ASSERT_TRUE(want.ok() && got.ok());
    EXPECT_LE(relative_error(*got, *want), 1e-6);
    // Two convolutions and two norms, a Relu and the sum go with each.
    EXPECT_EQ(smaller->nodes().size(), graph->nodes().size() - 6 * numbers.size());
  }
  EXPECT_EQ(without_blocks(*graph, blocks, std::vector<size_t>{7}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::compress
