// Law: a graph that is cut anywhere between two devices answers as on each of them alone.
#include "shoal/engine/device/hybrid.h"

#include <gtest/gtest.h>

#include "../passes/answers.h"
#include "../passes/random_graph.h"
#include "devices.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal {
namespace {

using passes::expect_same_answers;

// The CPU where a coin says so, the reference elsewhere; or the other way round.
std::unique_ptr<Device> make_hybrid(uint32_t seed) {
  std::unique_ptr<Device> cpu = make_cpu_device({.threads = 2});
  std::unique_ptr<Device> reference = make_reference_device();
  if (seed % 2 == 1) std::swap(cpu, reference);
  return make_hybrid_device(make_moody_device(std::move(cpu), seed), std::move(reference));
}

class RandomCut : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomCut, AnswersAsEachDeviceAlone) {
  const auto cpu = make_cpu_device({.threads = 2}), reference = make_reference_device();
  int64_t crossed = 0;
  for (uint32_t i = 0; i < 20; ++i) {
    const uint32_t seed = 20 * GetParam() + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = passes::random_graph(seed);
    const auto hybrid = make_hybrid(seed);
    expect_same_answers(graph, *hybrid, *reference);
    expect_same_answers(graph, *hybrid, *cpu);
    crossed += crossings_of(**hybrid->compile(graph)).values;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(crossed, 20) << "hardly anything was cut";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCut, testing::Range(0u, 5u));

TEST(HybridDevice, RunsNetworksAndTheirTraining) {
  const auto reference = make_reference_device(), hybrid = make_hybrid(0);
  const Graph network = *zoo::build("lenet5");
  expect_same_answers(*passes::optimize(network), *hybrid, *reference);
  const auto step = train::make_step_graph(network, {});
  ASSERT_TRUE(step.ok());
  expect_same_answers(step->graph, *hybrid, *reference);
}

}  // namespace
}  // namespace shoal
