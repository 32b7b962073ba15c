// MC-15 to MC-17 of docs/references.md, on networks that compute: shared first layers and networks
// in two parts give bit by bit what whole networks do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "shoal/base/math/random.h"
#include "shoal/engine/shared_layers/common_prefix.h"
#include "shoal/engine/shared_layers/split_network.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"

namespace shoal::prefix {
namespace {

// A classifier of faces: blocks of two convolutions with a residual, pools between them. The first
// `common` blocks have weights of seed 1, the others those of the task.
class Faces {
 public:
  static constexpr int kBlocks = 4;

  Faces(int common, uint64_t task) {
    ValueId x = graph_.add_input("image", {DType::kF32, {1, 3, 16, 16}});
    for (int i = 0; i < kBlocks; ++i) {
      seed_ = i < common ? 1 : 100 + task;
      constants_ = 1000 * static_cast<uint64_t>(i);
      x = conv(x, 8);
      x = add(ops::relu, {add(ops::add, {conv(conv(x, 8), 8), x})});
      if (i % 2 == 1) {
        x = add(ops::max_pool, {x},
                {{"kernel_shape", std::vector<int64_t>{2, 2}},
                 {"strides", std::vector<int64_t>{2, 2}}});
      }
    }
    seed_ = 100 + task;
    x = add(ops::flatten, {x}, {{"axis", int64_t{1}}});
    const ValueId w = constant({5, graph_[x].type.shape[1]});
    graph_.mark_output(add(ops::gemm, {x, w}, {{"transB", int64_t{1}}}));
  }

  Graph optimised() const { return *passes::optimize(graph_); }

 private:
  ValueId constant(const Shape& shape) {
    Tensor tensor({DType::kF32, shape});
    const double fan_in = static_cast<double>(shape.count(1, shape.rank()));
    fill_normal(tensor.data<float>(), RandomStream(seed_, constants_++), 1 / std::sqrt(fan_in));
    return graph_.add_constant("w", std::move(tensor));
  }
  ValueId add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return *graph_.add(op, std::move(inputs), std::move(attributes));
  }
  ValueId conv(ValueId x, int64_t filters) {
    const ValueId w = constant({filters, graph_[x].type.shape[1], 3, 3});
    return add(ops::relu, {add(ops::conv, {x, w},
                               {{"kernel_shape", std::vector<int64_t>{3, 3}},
                                {"pads", std::vector<int64_t>{1, 1, 1, 1}}})});
  }

  Graph graph_;
  uint64_t seed_ = 0, constants_ = 0;
};

std::vector<Tensor> run(Device& device, const Graph& graph, std::span<const Tensor> inputs) {
  const auto executable = device.compile(graph);
  SHOAL_CHECK(executable.ok());
  std::vector<Tensor> outputs(graph.outputs().size());
  SHOAL_CHECK((*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

bool same_bytes(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.type() == y.type() && std::ranges::equal(x.bytes(), y.bytes());
  });
}

std::vector<Tensor> inputs_of(const Suffix& suffix, const std::vector<Tensor>& given,
                              const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all;
  for (const size_t i : suffix.from_prefix) all.push_back(given[i]);
  for (const size_t i : suffix.from_networks) all.push_back(inputs[i]);
  return all;
}

// MC-15 and MC-16: four tasks with 1, 2 and 3 of 4 blocks in common.
TEST(CommonPrefix, FourTasksAnswerAsAloneAndSaveMoreTheDeeperItIs) {
  const auto device = make_reference_device();
  double before = 0;
  for (int common = 1; common < Faces::kBlocks; ++common) {
    std::vector<Graph> tasks;
    for (uint64_t task = 0; task < 4; ++task) tasks.push_back(Faces(common, task).optimised());
    const auto shared = common_prefix(tasks);
    ASSERT_TRUE(shared.ok()) << shared.status().message();
    std::mt19937 rng(7);
    const std::vector<Tensor> inputs = random_inputs(tasks[0], rng);
    const auto runner = PrefixRunner::create(*device, shared->prefix);
    ASSERT_TRUE(runner.ok());
    Work whole, together = work_of(shared->prefix);
    for (size_t t = 0; t < tasks.size(); ++t) {
      const auto given = (*runner)->run(inputs);
      ASSERT_TRUE(given.ok()) << given.status().message();
      const Suffix& suffix = shared->suffixes[t];
      EXPECT_TRUE(same_bytes(run(*device, suffix.graph, inputs_of(suffix, **given, inputs)),
                             run(*device, tasks[t], inputs)));
      const Work own = work_of(suffix.graph), alone = work_of(tasks[t]);
      EXPECT_EQ(own.macs + work_of(shared->prefix).macs, alone.macs);
      EXPECT_EQ(own.bytes + work_of(shared->prefix).bytes, alone.bytes);
      together.macs += own.macs;
      together.bytes += own.bytes;
      whole.macs += alone.macs;
      whole.bytes += alone.bytes;
    }
    EXPECT_EQ((*runner)->runs(), 1U);  // once for the input, for all requests
    EXPECT_EQ((*runner)->uses(), 4U);
    const double saved = 1 - static_cast<double>(together.macs) / static_cast<double>(whole.macs);
    std::printf("MC-16: %d of %d blocks in common save %.3f of the work\n", common, Faces::kBlocks,
                saved);
    EXPECT_GT(saved, before);
    EXPECT_LT(together.bytes, whole.bytes);
    before = saved;
  }
}

TEST(CommonPrefix, IsNoneOfNetworksThatDiffer) {
  const std::vector<Graph> apart{Faces(0, 1).optimised(), Faces(0, 2).optimised()};
  EXPECT_EQ(common_prefix(apart).status().code(), Code::kInvalidArgument);
  Graph wide;
  const ValueId x = wide.add_input("image", {DType::kF32, {1, 3, 16, 17}});
  wide.mark_output(*wide.add(ops::relu, {x}));
  const std::vector<Graph> shapes{Faces(0, 1).optimised(), wide};
  EXPECT_EQ(common_prefix(shapes).status().code(), Code::kInvalidArgument);
  // A network that is the other's prefix keeps its last layer.
  Graph longer = wide;
  longer.mark_output(*longer.add(ops::relu, {longer.outputs()[0]}));
  const std::vector<Graph> equal{wide, longer};
  EXPECT_EQ(common_prefix(equal).status().code(), Code::kInvalidArgument);
}

// Suffixes may read the input as well.
TEST(CommonPrefix, HandsInputsThrough) {
  const auto make = [](float factor) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {1, 8}});
    const ValueId y = *graph.add(ops::sigmoid, {x});
    const ValueId f = graph.add_constant("f", Tensor::of<float>({1}, {factor}));
    const ValueId scaled = *graph.add(ops::mul, {x, f});
    graph.mark_output(*graph.add(ops::add, {*graph.add(ops::mul, {scaled, y}), x}));
    return graph;
  };
  const std::vector<Graph> networks{make(2), make(3)};
  const auto shared = common_prefix(networks);
  ASSERT_TRUE(shared.ok()) << shared.status().message();
  EXPECT_EQ(shared->prefix.nodes().size(), 1U);
  const auto device = make_reference_device();
  std::mt19937 rng(3);
  const std::vector<Tensor> inputs = random_inputs(networks[0], rng);
  const std::vector<Tensor> given = run(*device, shared->prefix, inputs);
  for (size_t n = 0; n < 2; ++n) {
    const Suffix& suffix = shared->suffixes[n];
    ASSERT_EQ(suffix.from_networks.size(), 1U);
    EXPECT_TRUE(same_bytes(run(*device, suffix.graph, inputs_of(suffix, given, inputs)),
                           run(*device, networks[n], inputs)));
  }
}

TEST(PrefixRunner, RunsOnceForWhoeverAsksTogetherAndForgetsOldInputs) {
  const auto device = make_reference_device();
  const std::vector<Graph> tasks{Faces(3, 0).optimised(), Faces(3, 1).optimised()};
  const auto shared = common_prefix(tasks);
  ASSERT_TRUE(shared.ok());
  const auto runner = PrefixRunner::create(*device, shared->prefix, 2);
  ASSERT_TRUE(runner.ok());
  std::vector<std::vector<Tensor>> inputs;
  for (unsigned i = 0; i < 3; ++i) {
    std::mt19937 rng(i);
    inputs.push_back(random_inputs(tasks[0], rng));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE((*runner)->run(inputs[0]).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*runner)->runs(), 1U);
  for (const size_t i : {0U, 1U, 0U, 1U}) EXPECT_TRUE((*runner)->run(inputs[i]).ok());
  EXPECT_EQ((*runner)->runs(), 2U);
  EXPECT_TRUE((*runner)->run(inputs[2]).ok());  // in place of the one that was not used for longest
  EXPECT_TRUE((*runner)->run(inputs[1]).ok());
  EXPECT_EQ((*runner)->runs(), 3U);
  EXPECT_TRUE((*runner)->run(inputs[0]).ok());
  EXPECT_EQ((*runner)->runs(), 4U);
  EXPECT_EQ((*runner)->run({}).status().code(), Code::kInvalidArgument);
}

// MC-17, without the wire: see http/http_server_test.cc for both sides.
TEST(SplitNetwork, PartsComputeWhatTheWholeDoes) {
  const auto device = make_reference_device();
  const Graph network = Faces(2, 1).optimised();
  const auto points = split_points(network);
  ASSERT_GE(points.size(), 2U);
  std::mt19937 rng(5);
  const std::vector<Tensor> inputs = random_inputs(network, rng);
  const std::vector<Tensor> whole = run(*device, network, inputs);
  const Work all = work_of(network);
  int64_t sent = static_cast<int64_t>(inputs[0].bytes().size()), macs = -1;
  for (const SplitPoint& point : points) {
    EXPECT_LT(point.sent_bytes, sent);
    EXPECT_GT(point.first.macs, macs);
    sent = point.sent_bytes;
    macs = point.first.macs;
    const auto split = split_after(network, point.nodes);
    ASSERT_TRUE(split.ok()) << split.status().message();
    const std::vector<Tensor> given = run(*device, split->first, inputs);
    int64_t bytes = 0;
    for (const Tensor& tensor : given) bytes += static_cast<int64_t>(tensor.bytes().size());
    EXPECT_EQ(bytes, point.sent_bytes);
    EXPECT_EQ(split->sent_bytes, point.sent_bytes);
    EXPECT_EQ(work_of(split->first).macs, point.first.macs);
    EXPECT_EQ(work_of(split->first).bytes, point.first.bytes);
    EXPECT_EQ(work_of(split->first).macs + work_of(split->rest).macs, all.macs);
    EXPECT_TRUE(same_bytes(run(*device, split->rest, given), whole));
  }
  // Inside blocks, too, where more is sent.
  for (size_t nodes = 1; nodes < network.nodes().size(); ++nodes) {
    const auto split = split_after(network, nodes);
    ASSERT_TRUE(split.ok()) << split.status().message();
    EXPECT_TRUE(same_bytes(run(*device, split->rest, run(*device, split->first, inputs)), whole));
  }
  for (const size_t nodes : {size_t{0}, network.nodes().size(), network.nodes().size() + 1}) {
    EXPECT_EQ(split_after(network, nodes).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::prefix
