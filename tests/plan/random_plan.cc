#include "random_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/coding/products.h"

namespace shoal::plan {
namespace {

using Ints = std::vector<int64_t>;

Layout random_layout(Rng& rng, int workers) {
  constexpr Cut kCuts[] = {Cut::kNone, Cut::kBatch,    Cut::kRows,  Cut::kColumns,
                           Cut::kGrid, Cut::kChannels, Cut::kInputs};
  Layout layout;
  layout.cut = kCuts[draw(rng, 0, 6)];
  const int64_t count = layout.cut == Cut::kNone ? 1 : draw(rng, 1, workers);
  for (int64_t i = 0; i < count; ++i) {
    layout.workers.push_back(static_cast<int>(i));
    layout.shares.push_back(static_cast<double>(draw(rng, 1, 5)));
  }
  std::ranges::shuffle(layout.workers, rng);
  if (layout.cut == Cut::kGrid) layout.grid_rows = count % 2 == 0 ? 2 : 1;
  return layout;
}

}  // namespace

int64_t draw(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

Tensor random_tensor(Rng& rng, const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : tensor.data<float>()) x = uniform(rng);
  return tensor;
}

Graph random_network(Rng& rng) {
  Graph graph;
  const size_t axes = static_cast<size_t>(draw(rng, 1, 3));
  const auto all = [&](int64_t low, int64_t high) {
    Ints list;
    for (size_t d = 0; d < axes; ++d) list.push_back(draw(rng, low, high));
    return list;
  };
  const auto symmetric = [](const Ints& pads) {
    Ints both = pads;
    both.insert(both.end(), pads.begin(), pads.end());
    return both;
  };
  int64_t channels = 2 * draw(rng, 1, 4);
  Shape shape{draw(rng, 1, 2), channels};
  for (int64_t size : all(axes == 3 ? 8 : 16, axes == 3 ? 12 : 28)) shape.push_back(size);
  ValueId x = graph.add_input("x", {DType::kF32, shape});
  for (int64_t layer = draw(rng, 2, 5); layer > 0; --layer) {
    const int64_t kind = draw(rng, 0, 3);
    Result<ValueId> next = x;
    if (kind <= 1) {
      const int64_t groups = draw(rng, 0, 2) == 0 ? 2 : 1, out = 2 * draw(rng, 1, 5);
      Shape w{out, channels / groups};
      const Ints kernel = all(1, 7);
      for (int64_t k : kernel) w.push_back(k);
      const Ints strides = all(1, draw(rng, 0, 2) == 0 ? 3 : 1);
      const Ints dilations = all(1, draw(rng, 0, 3) == 0 ? 3 : 1);
      Ints pads;
      for (size_t d = 0; d < axes; ++d) pads.push_back(draw(rng, 0, kernel[d] / 2 * dilations[d]));
      next = graph.add(ops::fused_conv,
                       {x, graph.add_constant("w", random_tensor(rng, w)),
                        graph.add_constant("b", random_tensor(rng, {out}))},
                       {{"strides", strides},
                        {"dilations", dilations},
                        {"pads", symmetric(pads)},
                        {"group", groups},
                        {"activation", std::string(draw(rng, 0, 1) == 0 ? "Relu" : "")}});
      if (next.ok()) channels = out;
    } else if (kind == 2) {
      next = graph.add(draw(rng, 0, 1) == 0 ? ops::max_pool : ops::average_pool, {x},
                       {{"kernel_shape", all(2, 3)}, {"strides", all(1, 2)}});
    } else {
      next = graph.add(ops::add, {x, *graph.add(ops::sigmoid, {x})});
    }
    // A window may be larger than what is left of the image: then the network ends there.
    if (next.ok() && graph[*next].type.shape.count() > 0) x = *next;
  }
  graph.mark_output(x);
  return graph;
}

Tensor random_blocks(Rng& rng, const BlockMatrix& matrix) {
  Tensor weight = random_tensor(rng, {matrix.rows, matrix.columns});
  std::bernoulli_distribution inside(matrix.inside), outside(matrix.outside), dead(matrix.dead);
  std::vector<bool> dead_columns;
  for (int64_t c = 0; c < matrix.columns; ++c) dead_columns.push_back(dead(rng));
  for (int64_t r = 0; r < matrix.rows; ++r) {
    const bool dead_row = dead(rng);
    for (int64_t c = 0; c < matrix.columns; ++c) {
      const bool own = r % matrix.blocks == c % matrix.blocks;
      const bool is_there = own ? inside(rng) : outside(rng);
      if (is_there && !dead_row && !dead_columns[static_cast<size_t>(c)]) continue;
      weight.data<float>()[static_cast<size_t>(r * matrix.columns + c)] = 0;
    }
  }
  return weight;
}

Graph random_sparse_layers(Rng& rng) {
  Graph graph;
  int64_t inputs = draw(rng, 60, 120);
  ValueId x = graph.add_input("x", {DType::kF32, {draw(rng, 1, 3), inputs}});
  for (int64_t layers = draw(rng, 1, 3); layers > 0; --layers) {
    const int64_t outputs = draw(rng, 72, 120);
    const bool turned = draw(rng, 0, 1) == 1;
    const auto weight = graph.add_constant(
        "w", random_blocks(rng, {.rows = turned ? inputs : outputs,
                                 .columns = turned ? outputs : inputs,
                                 .blocks = draw(rng, 1, 4),
                                 .inside = 0.1 * static_cast<double>(draw(rng, 1, 4)),
                                 .outside = 0.01 * static_cast<double>(draw(rng, 0, 3)),
                                 .dead = 0.1 * static_cast<double>(draw(rng, 0, 3))}));
    const int64_t kind = draw(rng, 0, 2);
    if (kind == 0 && turned) {
      x = *graph.add(ops::mat_mul, {x, weight});
    } else {
      Attributes attributes{{"alpha", 0.5f}, {"beta", 2.0f}, {"transB", int64_t{turned ? 0 : 1}}};
      if (kind == 2) attributes["activation"] = std::string("Relu");
      std::vector<ValueId> operands = {x, weight};
      if (draw(rng, 0, 2) > 0) {
        const int64_t bias = draw(rng, 0, 1) == 1 ? outputs : 1;
        operands.push_back(graph.add_constant("b", random_tensor(rng, {bias})));
      }
      x = *graph.add(kind == 2 ? ops::fused_gemm : ops::gemm, operands, attributes);
    }
    inputs = outputs;
  }
  graph.mark_output(x);
  return graph;
}

Graph random_sums(Rng& rng, const Graph& graph, int most_terms) {
  std::vector<SumOfTerms> sums;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    SumOfTerms sum{i, {}};
    for (int64_t terms = draw(rng, 1, most_terms); terms > 0; --terms) {
      sum.shares.push_back(static_cast<double>(draw(rng, 1, 5)));
    }
    const bool wanted = draw(rng, 0, 2) == 0;
    if (wanted && with_partial_sums(graph, {sum}).ok()) sums.push_back(std::move(sum));
  }
  return *with_partial_sums(graph, sums);
}

Plan random_plan(Rng& rng, const Graph& graph, int workers) {
  Plan plan;
  for (size_t begin = 0; begin < graph.nodes().size();) {
    const size_t left = graph.nodes().size() - begin;
    const NodeRange nodes{begin,
                          begin + static_cast<size_t>(draw(rng, 1, static_cast<int64_t>(left)))};
    const Layout layout = random_layout(rng, workers);
    auto tasks = tasks_of(graph, nodes, layout);
    const auto can_be = [&](const Task& task) {
      return make_part(graph, nodes, task.outputs).ok();
    };
    if (!tasks || !std::ranges::all_of(*tasks, can_be)) continue;
    plan.segments.push_back({nodes, layout.describe(), *std::move(tasks)});
    begin = nodes.end;
  }
  return plan;
}

Plan random_replicas(Rng& rng, Plan plan, int more, int workers) {
  plan.survives = more;
  for (Segment& segment : plan.segments) {
    const std::vector<Task> tasks = std::move(segment.tasks);
    segment.tasks.clear();
    for (const Task& task : tasks) {
      std::vector<int> others(static_cast<size_t>(workers));
      std::iota(others.begin(), others.end(), 0);
      std::ranges::shuffle(others, rng);
      std::erase(others, task.worker);
      segment.tasks.push_back(task);
      for (int i = 0; i < more; ++i) {
        segment.tasks.push_back({others[static_cast<size_t>(i)], task.outputs});
      }
    }
  }
  return plan;
}

ClusterProfile random_cluster(Rng& rng, int workers) {
  ClusterProfile cluster;
  const auto link = [&] {
    return LinkProfile{
        1e-5 * static_cast<double>(draw(rng, 0, 100)), 1e6 * static_cast<double>(draw(rng, 1, 100)),
        1e-3 * static_cast<double>(draw(rng, 0, 50)), 0.01, static_cast<int>(draw(rng, -1, 1))};
  };
  for (int w = 0; w < workers; ++w) {
    cluster.workers.push_back(
        uniform_worker("", 1e6 * static_cast<double>(draw(rng, 1, 1000)), 1e8));
    cluster.links.push_back(link());
  }
  cluster.coordinator = link();
  cluster.keep_awake = draw(rng, 0, 1) == 1;
  return cluster;
}

Plan split_each_node(const Graph& graph, const Layout& layout) {
  Plan plan;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const NodeRange node{i, i + 1};
    auto tasks = tasks_of(graph, node, layout);
    const bool can = tasks && std::ranges::all_of(*tasks, [&](const Task& task) {
                       return make_part(graph, node, task.outputs).ok();
                     });
    if (!can) tasks = {{0, whole_pieces(graph, node)}};
    plan.segments.push_back({node, layout.describe(), *std::move(tasks)});
  }
  return plan;
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_LE(relative_error(got[i], want[i]), kSameAnswer) << "output " << i;
  }
}

}  // namespace shoal::plan
