#include "shoal/engine/device/hybrid.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "shoal/engine/device/cut.h"

namespace shoal {
namespace {

const TensorType kPair{DType::kF32, {2}};

Result<std::vector<TensorType>> same_type(const Node&, std::span<const Operand> inputs) {
  return std::vector{inputs[0].type};
}
void add_one(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (size_t e = 0; e < 2; ++e) {
    outputs[0].data<float>()[e] = 1;
    for (const Tensor& input : inputs) outputs[0].data<float>()[e] += input.data<float>()[e];
  }
}
// The sum of its inputs and one; the test's devices tell the two apart.
const Operator kEasy = {.name = "Easy", .max_inputs = 9, .infer = same_type, .reference = add_one};
const Operator kHard = {.name = "Hard", .max_inputs = 9, .infer = same_type, .reference = add_one};

std::vector<size_t> sides_of(const Graph& graph) {
  std::vector<size_t> sides;
  for (const Node& node : graph.nodes()) sides.push_back(node.op == &kEasy ? 0 : 1);
  return sides;
}

// Two chains that meet:  x - easy - hard - easy -.
//                        y ------- hard -------- easy
Graph two_chains() {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair), y = graph.add_input("y", kPair);
  const ValueId a = *graph.add(kEasy, {x});
  const ValueId b = *graph.add(kHard, {y});
  const ValueId c = *graph.add(kHard, {a});
  const ValueId d = *graph.add(kEasy, {c});
  graph.mark_output(*graph.add(kEasy, {d, b, a}));
  return graph;
}

TEST(CutGraph, PutsWhatDoesNotDependOnEachOtherIntoOnePart) {
  const auto parts = cut_graph(two_chains(), sides_of(two_chains()));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].nodes, (std::vector<size_t>{0}));
  EXPECT_EQ(parts[1].nodes, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(parts[2].nodes, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(parts[0].reads.size(), 1u);
  EXPECT_EQ(parts[1].reads.size(), 2u);
  EXPECT_EQ(parts[2].reads.size(), 3u);
  EXPECT_EQ(parts[2].gives.size(), 1u);
}

TEST(CutGraph, BeginsWithTheDeviceThatGivesFewerParts) {
  Graph graph;
  ValueId x = graph.add_input("x", kPair);
  graph.mark_output(*graph.add(kEasy, {x}));  // may run first or last
  for (const Operator* op : {&kHard, &kHard, &kEasy}) x = *graph.add(*op, {x});
  graph.mark_output(x);
  const auto parts = cut_graph(graph, sides_of(graph));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].side, 1u);
}

Graph random_graph(uint32_t seed, int nodes) {
  std::mt19937 rng(seed);
  Graph graph;
  std::vector<ValueId> values = {graph.add_input("x", kPair), graph.add_input("y", kPair)};
  for (int n = 0; n < nodes; ++n) {
    std::vector<ValueId> inputs;
    for (uint32_t i = 0; i <= rng() % 3; ++i) inputs.push_back(values[rng() % values.size()]);
    values.push_back(*graph.add(rng() % 2 == 0 ? kEasy : kHard, inputs));
    if (rng() % 8 == 0) graph.mark_output(values.back());
  }
  graph.mark_output(values.back());
  return graph;
}

// Every node in one part of its side; parts read only what is there before they run.
void expect_valid(const Graph& graph, const std::vector<GraphPart>& parts) {
  const std::vector<size_t> sides = sides_of(graph);
  std::set<size_t> nodes;
  std::set<ValueId> there(graph.inputs().begin(), graph.inputs().end());
  for (const GraphPart& part : parts) {
    for (ValueId id : part.reads) EXPECT_TRUE(there.contains(id));
    for (size_t n : part.nodes) {
      EXPECT_EQ(sides[n], part.side);
      EXPECT_TRUE(nodes.insert(n).second);
    }
    there.insert(part.gives.begin(), part.gives.end());
  }
  EXPECT_EQ(nodes.size(), graph.nodes().size());
  for (ValueId id : graph.outputs()) EXPECT_TRUE(there.contains(id));
}

TEST(CutGraph, IsValidForRandomGraphs) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 1 + static_cast<int>(seed % 40));
    expect_valid(graph, cut_graph(graph, sides_of(graph)));
  }
}

// The reference device, but for one operator.
class Without : public Device {
 public:
  explicit Without(const Operator& op) : op_(op) {}
  const DeviceInfo& info() const override { return device_->info(); }
  bool supports(const Graph&, const Node& node) const override { return node.op != &op_; }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    for (const Node& node : graph.nodes()) EXPECT_TRUE(supports(graph, node));
    return device_->compile(graph);
  }

 private:
  const Operator& op_;
  std::unique_ptr<Device> device_ = make_reference_device();
};

std::unique_ptr<Device> make_hybrid() {
  return make_hybrid_device(std::make_unique<Without>(kHard), make_reference_device());
}

std::vector<Tensor> answers(Device& device, const Graph& graph) {
  const std::vector<Tensor> inputs(2, Tensor::of<float>({2}, {1, 2}));
  std::vector<Tensor> outputs(graph.outputs().size());
  auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_TRUE((*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

TEST(HybridDevice, AnswersAsOneDevice) {
  const auto whole = make_reference_device(), hybrid = make_hybrid();
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 20);
    const auto want = answers(*whole, graph), got = answers(*hybrid, graph);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(got[i].bytes(), want[i].bytes()));
    }
  }
}

TEST(HybridDevice, CountsWhatCrosses) {
  const auto hybrid = make_hybrid();
  const auto executable = *hybrid->compile(two_chains());
  const Crossings crossings = crossings_of(*executable);
  EXPECT_EQ(crossings.parts, 3);
  EXPECT_EQ(crossings.values, 3);  // a to the fallback; b and c back
  EXPECT_EQ(crossings.bytes, 24);
}

TEST(HybridDevice, LeavesAGraphToTheDeviceThatSupportsAllOfIt) {
  Graph graph;
  graph.mark_output(*graph.add(kEasy, {graph.add_input("x", kPair)}));
  const auto hybrid = make_hybrid();
  EXPECT_EQ(crossings_of(**hybrid->compile(graph)).parts, 1);
}

TEST(HybridDevice, NamesANodeThatNobodySupports) {
  const auto hybrid =
      make_hybrid_device(std::make_unique<Without>(kHard), std::make_unique<Without>(kHard));
  const auto executable = hybrid->compile(two_chains());
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.status().code(), Code::kUnsupported);
  EXPECT_FALSE(hybrid->supports(two_chains(), two_chains().nodes()[1]));
}

TEST(HybridDevice, TracesTheNodesOfAllParts) {
  const auto hybrid = make_hybrid();
  auto executable = *hybrid->compile(two_chains());
  Trace trace;
  const std::vector<Tensor> inputs(2, Tensor(kPair));
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(executable->run(inputs, outputs, {.trace = &trace}).ok());
  ASSERT_EQ(trace.size(), 5u);
  for (size_t i = 0; i < trace.size(); ++i) {
    EXPECT_EQ(trace[i].node, i);
    EXPECT_EQ(executable->kernel_of(i).name, "reference");
    EXPECT_LE(i == 0 ? trace[0].begin : trace[i - 1].end, trace[i].begin);
  }
}

TEST(HybridDevice, GivesInputsAndConstantsAsOutputs) {
  Graph graph = two_chains();
  graph.mark_output(graph.inputs()[0]);
  graph.mark_output(graph.add_constant("c", Tensor::of<float>({2}, {7, 8})));
  const auto hybrid = make_hybrid(), whole = make_reference_device();
  const auto got = answers(*hybrid, graph), want = answers(*whole, graph);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(got[i].bytes(), want[i].bytes()));
  }
}

TEST(HybridDevice, GivesOutputsThatShareNoMemory) {
  Graph graph = two_chains();
  graph.mark_output(graph.outputs()[0]);
  for (int twice = 0; twice < 2; ++twice) graph.mark_output(graph.inputs()[0]);
  graph.mark_output(graph.add_constant("c", Tensor::of<float>({2}, {7, 8})));
  const auto hybrid = make_hybrid();
  auto executable = *hybrid->compile(graph);
  const std::vector<Tensor> inputs{Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({2}, {3, 4})};
  std::vector<Tensor> outputs(graph.outputs().size());
  ASSERT_TRUE(executable->run(inputs, outputs, {}).ok());
  std::vector<std::vector<float>> want;
  for (const Tensor& output : outputs) {
    want.emplace_back(output.data<float>().begin(), output.data<float>().end());
  }
  for (Tensor& output : outputs) {
    for (float& x : output.data<float>()) x += 100;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].data<float>()[0], want[i][0] + 100) << i;
  }
  EXPECT_EQ(inputs[0].data<float>()[0], 1);
  std::vector<Tensor> again(outputs.size());
  ASSERT_TRUE(executable->run(inputs, again, {}).ok());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].data<float>()[0], want[i][0]) << i;
}

TEST(HybridDevice, PlansTheMemoryOfItsParts) {
  const auto hybrid = make_hybrid();
  const auto use = hybrid->memory_of(two_chains());
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->planned, (*hybrid->compile(two_chains()))->memory().planned);
}

}  // namespace
}  // namespace shoal
