// Protected plans: whichever worker is lost, the answer is the whole graph's.
#include "shoal/plan/coding/protect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/survives.h"

namespace shoal::plan {
namespace {

std::vector<int> workers_up_to(int count) {
  std::vector<int> workers(static_cast<size_t>(count));
  std::iota(workers.begin(), workers.end(), 0);
  return workers;
}

// Products and the nodes between them, each its own segment over the workers' channels.
Plan by_channels(const Graph& graph, int workers) {
  Plan plan;
  Layout layout{Cut::kChannels, {}, {}, 1};
  for (int w = 0; w < workers; ++w) {
    layout.workers.push_back(w);
    layout.shares.push_back(w == 0 ? 2 : 1);
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto tasks = tasks_of(graph, {i, i + 1}, layout);
    const bool can = tasks && std::ranges::all_of(*tasks, [&](const Task& task) {
                       return make_part(graph, {i, i + 1}, task.outputs).ok();
                     });
    plan.segments.push_back(
        {{i, i + 1},
         layout.describe(),
         can ? *tasks : std::vector<Task>{{0, whole_pieces(graph, {i, i + 1})}}});
  }
  return plan;
}

// Every way to lose at most `most` of the workers, each from some segment on.
std::vector<Losses> all_losses(Rng& rng, const Plan& plan, int most, int workers) {
  const auto when = [&] {
    return static_cast<size_t>(draw(rng, 0, std::ssize(plan.segments) - 1));
  };
  std::vector<Losses> all = {{}};
  for (int a = 0; a < workers; ++a) {
    all.push_back({{a, 0}});
    all.push_back({{a, when()}});
    for (int b = a + 1; most > 1 && b < workers; ++b) {
      all.push_back({{a, 0}, {b, 0}});
      const size_t first = when(), second = when();
      all.push_back({{a, first}, {b, second}});
    }
  }
  return all;
}

void expect_survival(Rng& rng, const Graph& graph, const Plan& plan, int losses, int workers,
                     Device& device) {
  const auto made = protect(graph, plan, losses, workers_up_to(workers));
  ASSERT_TRUE(made.ok()) << made.status().message();
  SCOPED_TRACE(to_text(made->graph, made->plan));
  const std::vector<Tensor> inputs = random_inputs(rng, graph);
  const std::vector<Tensor> want = run_whole(graph, device, inputs);
  for (const Losses& lost : all_losses(rng, made->plan, losses, workers)) {
    expect_near(run_here(made->graph, made->plan, device, inputs, lost), want);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Protected, GivesTheAnswerWhoeverIsLost) {
  const auto device = make_cpu_device({.threads = 1});
  int cases = 0;
  for (unsigned seed = 0; cases < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    ++cases;
    const int losses = static_cast<int>(draw(rng, 1, 2));
    const int workers = static_cast<int>(draw(rng, 3, 8));
    const bool channels = draw(rng, 0, 2) > 0;
    const Plan plan = channels ? by_channels(graph, std::max(1, workers - losses))
                               : random_plan(rng, graph, workers);
    expect_survival(rng, graph, plan, losses, workers, *device);
    if (HasFatalFailure()) return;
  }
}

// Two correct computations differ by less than the bound, whichever worker is lost.
TEST(RoundingBound, HoldsForDecodedAnswers) {
  const auto device = make_cpu_device({.threads = 1});
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const int workers = static_cast<int>(draw(rng, 3, 6));
    const auto made = protect(graph, by_channels(graph, workers - 1), 1, workers_up_to(workers));
    ASSERT_TRUE(made.ok()) << made.status().message();
    const std::vector<Tensor> inputs = random_inputs(rng, graph);
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    const double bound = rounding_bound(made->graph);
    EXPECT_LT(bound, kSameAnswer) << "of so few layers";
    for (int lost = 0; lost < workers; ++lost) {
      const auto got = run_here(made->graph, made->plan, *device, inputs, {{lost, 0}});
      EXPECT_LE(relative_error(got, want), bound);
    }
  }
}

TEST(Protected, CodesSmallZooModels) {
  const auto device = make_cpu_device({.threads = 1});
  for (const char* model : {"lenet5", "mlp", "seq2seq"}) {
    SCOPED_TRACE(model);
    Rng rng(1);
    const Graph graph = optimized(model);
    for (int losses = 1; losses <= 2; ++losses) {
      const Plan plan = by_channels(graph, 3);
      const auto made = protect(graph, plan, losses, workers_up_to(3 + losses));
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_FALSE(made->plan.codes.empty());
      const std::vector<Tensor> inputs = random_inputs(rng, graph);
      const Losses lost = losses == 1 ? Losses{{1, 0}} : Losses{{0, 0}, {2, 1}};
      expect_near(run_here(made->graph, made->plan, *device, inputs, lost),
                  run_whole(graph, *device, inputs));
    }
  }
}

Tensor random_bytes(Rng& rng, DType dtype, const Shape& shape) {
  Tensor tensor({dtype, shape});
  for (std::byte& x : tensor.bytes()) x = static_cast<std::byte>(draw(rng, 0, 255));
  return tensor;
}

// Quantised layers one after the other, with scales and zero points per channel or for all.
Graph random_quantized(Rng& rng) {
  Graph graph;
  const auto scale = [&](Shape shape) {
    Tensor tensor({DType::kF32, shape});
    for (float& x : tensor.data<float>()) x = 0.001f * static_cast<float>(draw(rng, 1, 40));
    return graph.add_constant("scale", std::move(tensor));
  };
  const auto bytes = [&](DType dtype, const Shape& shape) {
    return graph.add_constant("bytes", random_bytes(rng, dtype, shape));
  };
  const auto bias = [&](int64_t channels) {
    Tensor tensor({DType::kI32, {channels}});
    for (int32_t& x : tensor.data<int32_t>()) x = static_cast<int32_t>(draw(rng, -9999, 9999));
    return graph.add_constant("bias", std::move(tensor));
  };
  int64_t channels = draw(rng, 1, 4);
  ValueId x = graph.add_input("x", {DType::kF32, {1, channels, 7, 6}}), x_scale = scale({});
  ValueId x_zero = bytes(DType::kU8, {});
  x = *graph.add(ops::quantize_linear, {x, x_scale, x_zero});
  for (const Operator* op : {&ops::q_linear_conv, &ops::fused_q_linear_conv}) {
    const int64_t out = draw(rng, 4, 9);
    const bool each = draw(rng, 0, 1) == 1;
    const Shape parameters = each ? Shape{out} : Shape{};
    const ValueId w = bytes(DType::kI8, {out, channels, 3, 3}), w_scale = scale(parameters);
    const ValueId w_zero = bytes(DType::kI8, parameters), y_scale = scale({});
    const ValueId y_zero = bytes(DType::kU8, {}), b = bias(out);
    Attributes attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    if (op == &ops::fused_q_linear_conv) attributes["low"] = int64_t{100};
    x = *graph.add(*op, {x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b}, attributes);
    x_scale = y_scale;
    x_zero = y_zero;
    channels = out;
  }
  x = *graph.add(ops::flatten, {x});
  const int64_t columns = draw(rng, 4, 9), rows = graph[x].type.shape[1];
  const bool across = draw(rng, 0, 1) == 1;
  const ValueId w = bytes(DType::kI8, across ? Shape{columns, rows} : Shape{rows, columns});
  const ValueId w_scale = scale({columns}), w_zero = bytes(DType::kI8, {columns}),
                b = bias(columns);
  graph.mark_output(*graph.add(ops::q_gemm, {x, x_scale, x_zero, w, w_scale, w_zero, b},
                               {{"transB", int64_t{across}}}));
  return graph;
}

// Integers add up: the decoded value is the lost one, to the last bit.
TEST(Protected, IsExactWhereIntegersAreCoded) {
  const auto device = make_cpu_device({.threads = 1});
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_quantized(rng);
    const int losses = static_cast<int>(draw(rng, 1, 2)), data = static_cast<int>(draw(rng, 2, 4));
    const auto made =
        protect(graph, by_channels(graph, data), losses, workers_up_to(data + losses));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->plan.codes.size(), 3u);
    const std::vector<Tensor> inputs = random_inputs(rng, graph);
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    for (const Losses& lost : all_losses(rng, made->plan, losses, data + losses)) {
      const auto got = run_here(made->graph, made->plan, *device, inputs, lost);
      ASSERT_TRUE(std::ranges::equal(got[0].bytes(), want[0].bytes()));
    }
  }
}

Graph one_conv(Rng& rng, int64_t groups, const char* activation) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 8, 12, 12}});
  graph.mark_output(
      *graph.add(ops::fused_conv,
                 {x, graph.add_constant("w", random_tensor(rng, {8, 8 / groups, 3, 3})),
                  graph.add_constant("b", random_tensor(rng, {8}))},
                 {{"group", groups}, {"activation", std::string(activation)}}, "y"));
  return graph;
}

Plan one_segment(const Graph& graph, Cut cut) {
  const NodeRange all{0, graph.nodes().size()};
  const Layout layout{cut, {0, 1, 2, 3}, {1, 1, 1, 1}, 2};
  return {{{all, layout.describe(), *tasks_of(graph, all, layout)}}};
}

// One parity costs as much as one share, and nothing else is computed twice.
TEST(Protected, CostsOneShareOfWork) {
  Rng rng(1);
  const Graph graph = one_conv(rng, 1, "Relu");
  for (int losses = 1; losses <= 2; ++losses) {
    const auto made =
        protect(graph, one_segment(graph, Cut::kChannels), losses, workers_up_to(4 + losses));
    ASSERT_TRUE(made.ok()) << made.status().message();
    double macs = 0;
    for (const Node& node : made->graph.nodes()) {
      macs += static_cast<double>(shoal::macs(made->graph, node));
    }
    EXPECT_EQ(macs, static_cast<double>(shoal::macs(graph, graph.nodes()[0])) * (1 + losses / 4.0));
    EXPECT_EQ(made->plan.codes.size(), 1u);
    EXPECT_EQ(made->plan.segments[0].tasks.size(), static_cast<size_t>(4 + losses));
  }
}

// What divides its input has no factor that a parity could share: it is repeated, and says why.
TEST(Protected, RepeatsWhatCannotBeCoded) {
  Rng rng(1);
  const Graph dense = one_conv(rng, 1, ""), depthwise = one_conv(rng, 8, "");
  struct Case {
    const Graph& graph;
    Cut cut;
    const char* why;
  };
  const char* kInput =
      "FusedConv y cannot be coded: the split divides its input, so no factor is shared";
  for (const Case& c : {Case{dense, Cut::kRows, kInput}, Case{dense, Cut::kGrid, kInput},
                        Case{depthwise, Cut::kChannels, kInput}}) {
    const auto made = protect(c.graph, one_segment(c.graph, c.cut), 1, workers_up_to(5));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(made->plan.codes.empty());
    EXPECT_EQ(made->not_coded[0], c.why);
    EXPECT_EQ(made->plan.segments[0].tasks.size(), 8u);
  }
  const auto full = protect(dense, one_segment(dense, Cut::kChannels), 1, workers_up_to(4));
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->not_coded[0], "FusedConv y cannot be coded: no worker is left for a parity");
}

TEST(Protected, RefusesWhatNobodyCanSurvive) {
  Rng rng(1);
  const Graph graph = one_conv(rng, 1, "");
  const Plan plan = one_segment(graph, Cut::kChannels);
  EXPECT_FALSE(protect(graph, plan, 3, workers_up_to(8)).ok());
  EXPECT_FALSE(protect(graph, plan, 2, workers_up_to(2)).ok());
}

// Why activations come after decoding: the sum of rectified shares is not the rectified sum.
TEST(Parity, OfActivatedOutputsIsWrong) {
  Rng rng(1);
  const auto device = make_reference_device();
  const Graph activated = one_conv(rng, 1, "Relu");
  auto made = *protect(activated, one_segment(activated, Cut::kChannels), 1, workers_up_to(5));
  const std::vector<Tensor> inputs = random_inputs(rng, activated);
  const std::vector<Tensor> want = run_whole(activated, *device, inputs);
  expect_near(run_here(made.graph, made.plan, *device, inputs, {{0, 0}}), want);
  // The same, but each share activated before it travels.
  Graph wrong;
  const ValueId x = wrong.add_input("x", made.graph[made.graph.inputs()[0]].type);
  ErasureCode code = made.plan.codes[0];
  std::vector<ValueId> members;
  const Tensor& weights = *activated[activated.nodes()[0].inputs[1]].constant;
  for (const Node& product : made.graph.nodes()) {
    if (product.op != &ops::conv) continue;
    Node node = product;
    node.attributes["activation"] = std::string("Relu");
    const auto& own = made.graph[node.inputs[1]].constant;
    const auto at = 2 * static_cast<int64_t>(members.size());
    const auto w =
        wrong.add_constant("w", own ? *own : crop(weights, {{at, 0, 0, 0}, {at + 2, 8, 3, 3}}));
    const auto b = wrong.add_constant("b", *made.graph[node.inputs[2]].constant);
    members.push_back(*wrong.add(ops::fused_conv, {x, w, b}, node.attributes));
  }
  code.data.assign(members.begin(), members.begin() + 4);
  code.parity = {members[4]};
  wrong.mark_output(*wrong.add(ops::concat, code.data, {{"axis", int64_t{1}}}));
  Plan plan = made.plan;
  plan.codes = {code};
  plan.segments[0].nodes = {0, 5};
  plan.segments[1].nodes = {5, 6};
  for (size_t i = 0; i < 5; ++i) plan.segments[0].tasks[i].outputs[0].value = members[i];
  for (Task& task : plan.segments[1].tasks) task.outputs[0].value = wrong.outputs()[0];
  const auto right = run_here(wrong, plan, *device, inputs),
             lost = run_here(wrong, plan, *device, inputs, {{0, 0}});
  expect_near(right, want);
  float worst = 0;
  for (size_t i = 0; i < want[0].data<float>().size(); ++i) {
    worst = std::max(worst, std::abs(lost[0].data<float>()[i] - want[0].data<float>()[i]));
  }
  EXPECT_GT(worst, 0.1f);
}

}  // namespace
}  // namespace shoal::plan
