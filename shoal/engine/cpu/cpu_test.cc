#include "shoal/engine/cpu/cpu.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstring>

#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}
std::vector<float> to_vector(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}
std::unique_ptr<Executable> compile(const Graph& graph) {
  auto executable = make_cpu_device({.threads = 2})->compile(graph);
  EXPECT_TRUE(executable.ok());
  return *std::move(executable);
}

const TensorType kPair{DType::kF32, {2}};

TEST(Cpu, HasChosenItsInstructionSetBeforeKernelsAskForIt) {
  hwy::GetChosenTarget().DeInit();
  const auto device = make_cpu_device({.threads = 1});
  EXPECT_TRUE(hwy::GetChosenTarget().IsInitialized());
}

TEST(Cpu, OfAShareOfACoreHasOneThreadAndTheSameAnswers) {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", kPair)}));
  const auto device = make_cpu_device({.threads = 4, .pin = true, .share = 0.5});
  EXPECT_EQ(device->info().threads, 1);
  std::vector<Tensor> outputs(1);
  auto executable = *device->compile(graph);
  ASSERT_TRUE(executable->run(std::vector{floats({-1, 2})}, outputs, {}).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{0, 2}));
}

TEST(Cpu, GivesOutputsThatNoNodeComputes) {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  const ValueId w = graph.add_constant("w", floats({5, 6}));
  const ValueId y = *graph.add(ops::relu, {x});
  for (ValueId id : {x, w, y, y}) graph.mark_output(id);
  std::vector<Tensor> outputs(4);
  ASSERT_TRUE(compile(graph)->run(std::vector{floats({-1, 2})}, outputs, {}).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{-1, 2}));
  EXPECT_EQ(to_vector(outputs[1]), (std::vector<float>{5, 6}));
  EXPECT_EQ(to_vector(outputs[2]), (std::vector<float>{0, 2}));
  EXPECT_EQ(to_vector(outputs[3]), (std::vector<float>{0, 2}));
  EXPECT_NE(outputs[2].bytes().data(), outputs[3].bytes().data());
}

TEST(Cpu, WritesIntoTheTensorsOfTheCaller) {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  const ValueId y = *graph.add(ops::relu, {*graph.add(ops::add, {x, x})});
  graph.mark_output(y);
  const auto executable = compile(graph);
  std::vector<Tensor> outputs = {Tensor(kPair)};
  const Tensor mine = outputs[0], input = floats({-1, 2});
  ASSERT_TRUE(executable->run(std::span(&input, 1), outputs, {}).ok());
  EXPECT_EQ(to_vector(mine), (std::vector<float>{0, 4}));
  EXPECT_EQ(to_vector(input), (std::vector<float>{-1, 2})) << "an input was overwritten";
}

TEST(Cpu, KeepsAValueThatIsReadAgain) {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  const ValueId a = *graph.add(ops::add, {x, x});
  const ValueId b = *graph.add(ops::relu, {a});
  graph.mark_output(*graph.add(ops::add, {a, b}));
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(compile(graph)->run(std::vector{floats({-1, 2})}, outputs, {}).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{-2, 8}));
}

// Two floats that begin one byte after an aligned address.
Tensor misaligned(float a, float b) {
  auto bytes = std::make_shared<std::array<std::byte, 32>>();
  const float values[] = {a, b};
  std::byte* data = bytes->data();
  data += 4 - reinterpret_cast<uintptr_t>(data) % 4 + 1;
  std::memcpy(data, values, sizeof(values));
  return Tensor::view(kPair, data, bytes);
}

TEST(Cpu, MovesWhatLiesAcrossElements) {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  graph.mark_output(*graph.add(ops::add, {x, graph.add_constant("w", misaligned(10, 20))}));
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(compile(graph)->run(std::vector{misaligned(1, 2)}, outputs, {}).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{11, 22}));
}

TEST(Cpu, TracesEveryNode) {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  graph.mark_output(*graph.add(ops::relu, {*graph.add(ops::softmax, {x})}));
  Trace trace;
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(compile(graph)->run(std::vector{floats({1, 2})}, outputs, {.trace = &trace}).ok());
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace[1].node, 1u);
  EXPECT_LE(trace[0].begin, trace[0].end);
  EXPECT_LE(trace[0].end, trace[1].begin);
}

TEST(Cpu, OutlivesItsDevice) {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", kPair)}));
  auto device = make_cpu_device({.threads = 2});
  EXPECT_EQ(device->info().threads, 2);
  auto executable = *device->compile(graph);
  device.reset();
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(executable->run(std::vector{floats({-3, 3})}, outputs, {}).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{0, 3}));
}

}  // namespace
}  // namespace shoal
