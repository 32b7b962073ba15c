#include <gtest/gtest.h>

#include <limits>

#include "shoal/cluster/chaos/processes/chaos_cluster.h"
#include "shoal/model/ops/ops.h"

namespace shoal::chaos {
namespace {

std::vector<Tensor> floats(std::initializer_list<float> elements) {
  return {Tensor::of<float>({static_cast<int64_t>(elements.size())}, elements)};
}

TEST(OutputsMatch, ToATenThousandthOfTheLargest) {
  EXPECT_TRUE(outputs_match(floats({1, 100.005f}), floats({1, 100})));
  EXPECT_FALSE(outputs_match(floats({1, 100.02f}), floats({1, 100})));
  EXPECT_FALSE(
      outputs_match(floats({1, std::numeric_limits<float>::quiet_NaN()}), floats({1, 100})));
  EXPECT_FALSE(outputs_match({}, floats({1})));
}

TEST(OutputsMatch, OnlyWithTheSameElementInFirstPlace) {
  EXPECT_FALSE(outputs_match(floats({1, 1.00001f}), floats({1.00001f, 1})));
}

TEST(EquivalenceCheck, HasSeveralRequestsThatDifferAndFollowFromTheSeed) {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {5}})}));
  const auto device = make_reference_device();
  const auto once = EquivalenceCheck::make(graph, *device, 7);
  const auto again = EquivalenceCheck::make(graph, *device, 7);
  const auto other = EquivalenceCheck::make(graph, *device, 8);
  ASSERT_TRUE(once.ok() && again.ok() && other.ok());
  ASSERT_GT(once->requests().size(), 1u);
  for (size_t i = 0; i < once->requests().size(); ++i) {
    const EquivalenceCheck::Request& request = once->requests()[i];
    EXPECT_TRUE(outputs_match(request.expected, request.inputs)) << "Relu of what is positive";
    EXPECT_TRUE(outputs_match(again->requests()[i].expected, request.expected));
    EXPECT_FALSE(outputs_match(other->requests()[i].expected, request.expected));
    for (size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(outputs_match(once->requests()[k].expected, request.expected));
    }
  }
}

}  // namespace
}  // namespace shoal::chaos
