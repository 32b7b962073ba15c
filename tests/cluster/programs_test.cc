// Compiled tasks, and the memory that they may take.
#include "shoal/cluster/tasks/programs.h"

#include <gtest/gtest.h>

#include "messages.pb.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cluster {
namespace {

// A product with a weight of 64 x `columns`.
Graph product(int64_t columns) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 64}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {64, columns}}));
  graph.mark_output(*graph.add(ops::mat_mul, {x, w}));
  return graph;
}

class ProgramsTest : public testing::Test {
 protected:
  Result<std::shared_ptr<Executable>> compile(Programs& programs, const Graph& graph) {
    message::Graph message;
    encode(graph, message, [](const Tensor& tensor) { return hash_of(tensor.bytes()); });
    return programs.compile(message, graph);
  }

  const std::unique_ptr<Device> device_ = make_reference_device();
};

TEST_F(ProgramsTest, TakeTheirWeightsAndTheValuesOfTheLargestNode) {
  EXPECT_EQ(estimated_bytes(product(32)), 4u * (64 * 32 + 64 + 32));
}

// Two coordinators may have planned for the same memory: the second is refused, not swapped.
TEST_F(ProgramsTest, AreRefusedBeyondTheBudget) {
  const size_t one = estimated_bytes(product(32));
  Programs programs(*device_, 2 * one);
  const auto first = compile(programs, product(32));
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(compile(programs, product(128)).status().code(), Code::kExhausted);
  const auto same = compile(programs, product(32));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, *first) << "what is there costs nothing";
}

TEST_F(ProgramsTest, GiveTheirMemoryBack) {
  Programs programs(*device_, estimated_bytes(product(128)));
  auto first = compile(programs, product(128));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(compile(programs, product(32)).status().code(), Code::kExhausted);
  first->reset();
  EXPECT_TRUE(compile(programs, product(32)).ok());
}

}  // namespace
}  // namespace shoal::cluster
