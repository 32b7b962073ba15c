#include "shoal/engine/device/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal {
namespace {

// Operators of the test's own: any inputs, one output of `elements` floats.
Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand>) {
  return std::vector{TensorType{DType::kF32, {node.integer("elements", 1)}}};
}
const Operator kCompute = {.name = "Compute", .max_inputs = 1000, .infer = infer};
const Operator kRewrite = {.name = "Rewrite", .max_inputs = 1000, .infer = infer, .in_place = true};

ValueId add(Graph& graph, const Operator& op, std::vector<ValueId> inputs, int64_t elements) {
  return *graph.add(op, std::move(inputs), {{"elements", elements}});
}
ValueId input(Graph& graph, int64_t elements) {
  return graph.add_input("x", {DType::kF32, {elements}});
}
const Place& place(const MemoryPlan& plan, ValueId id) {
  return plan.places[static_cast<size_t>(id)];
}

// Steps in which each value must be intact, worked out the slow way.
std::vector<Lifetime> lifetimes_of(const Graph& graph) {
  std::vector<Lifetime> lives(graph.value_count());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const auto step = static_cast<int64_t>(n);
    for (ValueId id : node.inputs) lives[static_cast<size_t>(id)].last = step;
    for (ValueId id : node.outputs) {
      lives[static_cast<size_t>(id)] = {static_cast<int64_t>(graph[id].type.bytes()), step, step};
    }
  }
  for (ValueId id : graph.outputs()) {
    lives[static_cast<size_t>(id)].last = static_cast<int64_t>(graph.nodes().size());
  }
  return lives;
}

// True where b is the output that may overwrite a, its input 0.
bool may_share(const Graph& graph, const Lifetime& a, size_t a_id, size_t b_id) {
  const Node& node = graph.nodes()[static_cast<size_t>(a.last)];
  return node.op->in_place && node.inputs[0] == static_cast<ValueId>(a_id) &&
         node.outputs[0] == static_cast<ValueId>(b_id);
}

void expect_valid(const Graph& graph, const MemoryPlan& plan, int64_t alignment = kHostAlignment) {
  const std::vector<Lifetime> lives = lifetimes_of(graph);
  EXPECT_GE(plan.arena_bytes, plan.live_bytes);
  for (size_t a = 0; a < lives.size(); ++a) {
    if (plan.places[a].kind != Place::Kind::kArena) continue;
    ASSERT_EQ(plan.places[a].at % alignment, 0);
    ASSERT_LE(plan.places[a].at + lives[a].bytes, plan.arena_bytes);
    for (size_t b = a + 1; b < lives.size(); ++b) {
      if (plan.places[b].kind != Place::Kind::kArena) continue;
      const bool together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool overlap = plan.places[a].at < plan.places[b].at + lives[b].bytes &&
                           plan.places[b].at < plan.places[a].at + lives[a].bytes;
      if (!together || !overlap) continue;
      ASSERT_TRUE(lives[a].last == lives[b].first && may_share(graph, lives[a], a, b))
          << "values " << a << " and " << b << " overlap";
    }
  }
}

double gap(const MemoryPlan& plan) {
  if (plan.live_bytes == 0) return 0;
  return static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.live_bytes) - 1;
}

// Every other node computes, the next rewrites, as convolutions and activations do.
Graph chain(std::span<const int64_t> elements) {
  Graph graph;
  ValueId x = input(graph, 3 * 224 * 224);
  for (int64_t n : elements) {
    x = add(graph, kCompute, {x}, n);
    x = add(graph, kRewrite, {x}, n);
  }
  graph.mark_output(x);
  return graph;
}

// Blocks of 1x1, 3x3, 1x1 and a sum, halving the image and doubling the channels four times.
Graph residual() {
  Graph graph;
  ValueId x = input(graph, 3 * 224 * 224);
  x = add(graph, kCompute, {x}, 64 * 112 * 112);
  x = add(graph, kCompute, {x}, 64 * 56 * 56);
  int64_t pixels = 56 * 56, channels = 64;
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 3; ++block) {
      const int64_t before = stage > 0 && block == 0 ? pixels * 4 : pixels;
      ValueId y = add(graph, kCompute, {x}, channels * before);
      y = add(graph, kCompute, {y}, channels * pixels);
      y = add(graph, kCompute, {y}, 4 * channels * pixels);
      const ValueId side = block == 0 ? add(graph, kCompute, {x}, 4 * channels * pixels) : x;
      x = add(graph, kRewrite, {y, side}, 4 * channels * pixels);
      x = add(graph, kRewrite, {x}, 4 * channels * pixels);
    }
    pixels /= 4;
    channels *= 2;
  }
  graph.mark_output(add(graph, kCompute, {x}, 1000));
  return graph;
}

// Four branches of different depth and width, joined by a concatenation.
Graph inception() {
  Graph graph;
  std::mt19937 rng(3);
  auto channels = [&] { return std::uniform_int_distribution<int64_t>(2, 24)(rng) * 16; };
  ValueId x = input(graph, 3 * 224 * 224);
  int64_t pixels = 56 * 56;
  for (int block = 0; block < 12; ++block) {
    if (block % 4 == 3) pixels /= 4;
    std::vector<ValueId> ends;
    int64_t total = 0;
    for (int branch = 0; branch < 4; ++branch) {
      ValueId y = x;
      int64_t n = 0;
      for (int depth = 0; depth <= branch % 3; ++depth) {
        n = channels() * pixels;
        y = add(graph, kCompute, {y}, n);
      }
      total += n;
      ends.push_back(y);
    }
    x = add(graph, kCompute, ends, total);
  }
  graph.mark_output(add(graph, kCompute, {x}, 1000));
  return graph;
}

// Each layer reads the concatenation of all before it.
Graph dense() {
  Graph graph;
  int64_t pixels = 56 * 56;
  ValueId x = add(graph, kCompute, {input(graph, 3 * 224 * 224)}, 64 * pixels);
  int64_t channels = 64;
  for (int block : {6, 12, 24, 16}) {
    for (int layer = 0; layer < block; ++layer) {
      ValueId y = add(graph, kCompute, {x}, channels * pixels);  // norm of what stays alive
      y = add(graph, kRewrite, {y}, channels * pixels);
      y = add(graph, kCompute, {y}, 128 * pixels);
      y = add(graph, kCompute, {y}, 32 * pixels);
      x = add(graph, kCompute, {x, y}, (channels += 32) * pixels);
    }
    x = add(graph, kCompute, {x}, (channels /= 2) * pixels);
    x = add(graph, kCompute, {x}, channels * (pixels /= 4));
  }
  graph.mark_output(x);
  return graph;
}

// Down and up again, with the way down kept for the way up.
Graph unet() {
  Graph graph;
  ValueId x = input(graph, 3 * 256 * 256);
  std::vector<ValueId> skips;
  for (int64_t level = 0; level < 5; ++level) {
    const int64_t pixels = 65536 >> (2 * level), channels = int64_t{32} << level;
    x = add(graph, kCompute, {x}, channels * pixels);
    x = add(graph, kCompute, {x}, channels * pixels);
    skips.push_back(x);
    x = add(graph, kCompute, {x}, channels * pixels / 4);
  }
  for (int64_t level = 4; level >= 0; --level) {
    const int64_t pixels = 65536 >> (2 * level), channels = int64_t{32} << level;
    x = add(graph, kCompute, {x}, channels * pixels);
    x = add(graph, kCompute, {x, skips[static_cast<size_t>(level)]}, 2 * channels * pixels);
    x = add(graph, kCompute, {x}, channels * pixels);
  }
  graph.mark_output(x);
  return graph;
}

Graph random_graph(uint32_t seed, int nodes) {
  std::mt19937 rng(seed);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  Graph graph;
  std::vector<ValueId> values = {input(graph, draw(1, 500)), input(graph, draw(1, 500))};
  for (int n = 0; n < nodes; ++n) {
    std::vector<ValueId> inputs;
    for (int64_t i = draw(1, 3); i > 0; --i) {
      const auto back = std::min<int64_t>(draw(1, 6) * draw(1, 3), std::ssize(values));
      inputs.push_back(values[values.size() - static_cast<size_t>(back)]);
    }
    const bool rewrite = draw(0, 1) != 0;
    const int64_t elements = rewrite ? graph[inputs[0]].type.shape[0] : draw(0, 2000);
    values.push_back(add(graph, rewrite ? kRewrite : kCompute, inputs, elements));
    if (draw(0, 9) == 0) graph.mark_output(values.back());
  }
  graph.mark_output(values.back());
  return graph;
}

TEST(MemoryPlan, NeverLetsLiveValuesOverlap) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, static_cast<int>(seed % 60) + 1);
    expect_valid(graph, plan_memory(graph));
    expect_valid(graph, plan_memory(graph, 4096), 4096);
    if (HasFatalFailure()) return;
  }
}

TEST(MemoryPlan, IsCloseToTheLowerBoundOnKnownShapes) {
  const std::vector<int64_t> vgg = {3211264, 3211264, 802816, 1605632, 1605632, 401408, 802816,
                                    802816,  200704,  401408, 401408,  100352,  25088,  4096};
  const std::pair<const char*, Graph> graphs[] = {{"chain", chain(vgg)},
                                                  {"residual", residual()},
                                                  {"inception", inception()},
                                                  {"dense", dense()},
                                                  {"unet", unet()}};
  for (const auto& [name, graph] : graphs) {
    SCOPED_TRACE(name);
    const MemoryPlan plan = plan_memory(graph);
    expect_valid(graph, plan);
    RecordProperty(std::string("gap_") + name, std::to_string(gap(plan)));
    EXPECT_LE(gap(plan), 0.15);
  }
}

TEST(MemoryPlan, RewritesWhereTheInputDies) {
  Graph graph;
  const ValueId a = add(graph, kCompute, {input(graph, 8)}, 100);
  const ValueId b = add(graph, kRewrite, {a}, 100);
  const ValueId c = add(graph, kRewrite, {b}, 100);
  graph.mark_output(add(graph, kCompute, {c}, 1));
  const MemoryPlan plan = plan_memory(graph);
  EXPECT_EQ(place(plan, a).at, place(plan, b).at);
  EXPECT_EQ(place(plan, b).at, place(plan, c).at);
  EXPECT_EQ(plan.live_bytes, 400);
  EXPECT_EQ(plan.arena_bytes, 448);
}

TEST(MemoryPlan, DoesNotRewriteWhatIsStillRead) {
  Graph graph;
  const ValueId a = add(graph, kCompute, {input(graph, 8)}, 100);
  const ValueId later = add(graph, kRewrite, {a}, 100);
  const ValueId twice = add(graph, kRewrite, {a, a}, 100);
  const ValueId other_size = add(graph, kRewrite, {later}, 50);
  graph.mark_output(add(graph, kCompute, {twice, other_size}, 1));
  const MemoryPlan plan = plan_memory(graph);
  expect_valid(graph, plan);
  EXPECT_NE(place(plan, a).at, place(plan, later).at);
  EXPECT_NE(place(plan, a).at, place(plan, twice).at);
  EXPECT_NE(place(plan, later).at, place(plan, other_size).at);
}

TEST(MemoryPlan, ComputesOutputsWhereTheCallerWantsThem) {
  Graph graph;
  const ValueId x = input(graph, 8);
  const ValueId a = add(graph, kCompute, {x}, 100);
  const ValueId b = add(graph, kRewrite, {a}, 100);
  graph.mark_output(x);
  graph.mark_output(b);
  graph.mark_output(b);
  const MemoryPlan plan = plan_memory(graph);
  EXPECT_EQ(place(plan, x).kind, Place::Kind::kElsewhere);
  for (ValueId id : {a, b}) {
    EXPECT_EQ(place(plan, id).kind, Place::Kind::kOutput);
    EXPECT_EQ(place(plan, id).at, 1);
  }
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.caller_bytes, 32 + 32 + 400 + 400);
}

// Quadratic time would not come to an end here.
TEST(MemoryPlan, IsMadeForAHundredThousandNodes) {
  const Graph narrow = random_graph(1, 100'000);
  Graph wide;  // everything lives until the end
  std::vector<ValueId> all;
  const ValueId x = input(wide, 8);
  for (int64_t i = 0; i < 100'000; ++i) all.push_back(add(wide, kCompute, {x}, i % 97));
  for (size_t i = 0; i + 1000 <= all.size(); i += 1000) {
    wide.mark_output(add(
        wide, kCompute,
        {all.begin() + static_cast<int64_t>(i), all.begin() + static_cast<int64_t>(i) + 1000}, 1));
  }
  for (const Graph* graph : {&narrow, &std::as_const(wide)}) {
    const MemoryPlan plan = plan_memory(*graph);
    EXPECT_GE(plan.arena_bytes, plan.live_bytes);
  }
}

}  // namespace
}  // namespace shoal
