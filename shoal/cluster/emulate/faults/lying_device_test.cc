#include "shoal/cluster/emulate/faults/lying_device.h"

#include <gtest/gtest.h>

#include <bit>

#include "shoal/model/ops/ops.h"

namespace shoal::emulate {
namespace {

TEST(LyingDevice, FlipsOneBitOfEveryNthResult) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {100}});
  graph.mark_output(*graph.add(ops::relu, {x}));
  const auto device = make_reference_device();
  const auto lying = make_lying_device(*device, 3);
  const auto executable = lying->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Tensor input({DType::kF32, {100}});
  for (size_t i = 0; i < 100; ++i) input.data<float>()[i] = static_cast<float>(i);
  for (int run = 1; run <= 9; ++run) {
    std::vector<Tensor> outputs(1);
    ASSERT_TRUE((*executable)->run(std::span(&input, 1), outputs, {}).ok());
    int flipped = 0;
    for (size_t i = 0; i < input.bytes().size(); ++i) {
      flipped += std::popcount(
          static_cast<uint8_t>(input.bytes()[i] ^ std::as_const(outputs[0]).bytes()[i]));
    }
    EXPECT_EQ(flipped, run % 3 == 0 ? 1 : 0) << run;
  }
}

}  // namespace
}  // namespace shoal::emulate
