// Networks wired as DAGs: see network.h.
#include "shoal/shrink/search/dag_network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "shoal/base/math/draws.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"

namespace shoal::concurrent {
namespace {

using zoo::After;

constexpr int64_t kStepsPerWidth = 8;
constexpr int64_t kWidestInSteps = int64_t{1} << 20;
constexpr int kMostLevels = 8;
constexpr int64_t kMostClasses = 1 << 16, kMostPixels = 1 << 12;

Status check(const NetworkOptions& options) {
  const auto within = [](int64_t x, int64_t most) { return x >= 1 && x <= most; };
  if (options.macs < 1) return invalid("a budget of MACs must be positive");
  if (!within(options.levels, kMostLevels)) return invalid("a network has 1 to 8 levels");
  if (!within(options.classes, kMostClasses) || !within(options.size, kMostPixels) ||
      !within(options.channels, kMostPixels) || options.batch < 1) {
    return invalid("the images or classes of the network are out of range");
  }
  return {};
}

std::vector<int> levels_of(const Dag& dag, const NetworkOptions& options) {
  Draws draws(options.seed);
  std::vector<int> level(dag.size(), 0);
  for (size_t v = 1; v < dag.size(); ++v) {
    for (size_t from : dag.predecessors[v]) level[v] = std::max(level[v], level[from]);
    if (v == dag.sink() || level[v] + 1 >= options.levels) continue;
    if (options.staging == Staging::kGreedy || draws.below(2) == 0) ++level[v];
  }
  return level;
}

// Builds a network of one width, vertex by vertex.
class Wiring {
 public:
  Wiring(const Dag& dag, const std::vector<int>& level, const NetworkOptions& options, double width)
      : dag_(dag),
        level_(level),
        options_(options),
        width_(width),
        builder_({.seed = options.seed, .batch = options.batch}) {}

  Result<Network> build() {
    const int64_t side = options_.size;
    const ValueId image = builder_.input("input", {options_.channels, side, side});
    made_.push_back(builder_.batch_norm(
        builder_.conv("v0.conv", image, layer(channels_at(0), 3, 1, After::kLinear))));
    for (size_t v = 1; v < dag_.sink(); ++v) made_.push_back(inner(v));
    const ValueId pooled = builder_.global_average_pool(builder_.relu(sum(dag_.sink()).value));
    made_.push_back(builder_.fc(name_of(dag_.sink()) + ".fc", builder_.flatten(pooled),
                                options_.classes, After::kLinear));
    SHOAL_ASSIGN(Graph graph, builder_.finish(made_.back()));
    Network network{std::move(graph), dag_, {}, level_, width_};
    for (const Node& node : network.graph.nodes()) {
      network.macs += macs(network.graph, node) / options_.batch;
    }
    network.nodes = ranges(network.graph);
    return network;
  }

 private:
  struct Sum {
    ValueId value;
    int level;
  };

  static std::string name_of(size_t v) { return "v" + std::to_string(v); }

  static zoo::Convolution layer(int64_t filters, int64_t kernel, int64_t stride, After after) {
    return {.filters = filters,
            .kernel = kernel,
            .stride = stride,
            .pad = kernel / 2,
            .bias = false,
            .after = after};
  }

  int64_t channels_at(int level) const {
    return std::max<int64_t>(1, std::llround(std::ldexp(width_, level)));
  }

  ValueId scaled(ValueId x, const std::string& name, int from, int to) {
    if (from == to) return x;
    // Of as many pixels as a 3 x 3 convolution with stride 2 leaves, whatever the size.
    for (int i = from; i < to; ++i) x = builder_.max_pool(x, zoo::Window::square(3, 2, 1));
    return builder_.conv(name, x, layer(channels_at(to), 1, 1, After::kLinear));
  }

  Sum sum(size_t v) {
    int level = 0;
    for (size_t from : dag_.predecessors[v]) level = std::max(level, level_[from]);
    ValueId all = kNoValue;
    for (size_t from : dag_.predecessors[v]) {
      const std::string name = name_of(v) + ".from" + std::to_string(from);
      const ValueId x = scaled(made_[from], name + ".scale", level_[from], level);
      all = all == kNoValue ? x : builder_.add(ops::add, {all, x}, {}, name + ".add");
    }
    return {all, level};
  }

  ValueId inner(size_t v) {
    const Sum inputs = sum(v);
    const std::string name = name_of(v) + ".conv";
    const int64_t stride = level_[v] > inputs.level ? 2 : 1;
    ValueId x = builder_.relu(inputs.value);
    if (options_.block == Block::kSeparable) {
      zoo::Convolution depthwise = layer(channels_at(inputs.level), 3, stride, After::kRelu);
      depthwise.groups = depthwise.filters;
      x = builder_.conv(name + ".depthwise", x, depthwise);
      x = builder_.conv(name, x, layer(channels_at(level_[v]), 1, 1, After::kLinear));
    } else {
      x = builder_.conv(name, x, layer(channels_at(level_[v]), 3, stride, After::kRelu));
    }
    // The sum of k inputs has k times their mean square, which would grow from vertex to vertex.
    const auto inputs_count = static_cast<float>(dag_.predecessors[v].size());
    return builder_.batch_norm(x, 1 / std::sqrt(inputs_count));
  }

  // The nodes of a vertex end with the one that makes its value.
  std::vector<plan::NodeRange> ranges(const Graph& graph) const {
    std::vector<plan::NodeRange> ranges;
    size_t begin = 0;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      if (graph.nodes()[i].outputs[0] != made_[ranges.size()]) continue;
      ranges.push_back({begin, i + 1});
      begin = i + 1;
    }
    return ranges;
  }

  const Dag& dag_;
  const std::vector<int>& level_;
  const NetworkOptions& options_;
  const double width_;
  zoo::Builder builder_;
  std::vector<ValueId> made_;  // by vertex
};

double distance(const Network& network, int64_t budget) {
  return std::abs(static_cast<double>(network.macs) / static_cast<double>(budget) - 1);
}

}  // namespace

Result<Network> make_network(const Dag& dag, const NetworkOptions& options) {
  SHOAL_TRY(check(options));
  const std::vector<int> level = levels_of(dag, options);
  const auto build = [&](int64_t steps) {
    return Wiring(dag, level, options, static_cast<double>(steps) / kStepsPerWidth).build();
  };
  int64_t below = kStepsPerWidth;  // the narrowest is of width one
  SHOAL_ASSIGN(Network narrow, build(below));
  Network wide = narrow;
  int64_t above = below;
  while (wide.macs < options.macs && above < kWidestInSteps) {
    below = above;
    narrow = std::move(wide);
    above *= 2;
    SHOAL_ASSIGN(wide, build(above));
  }
  while (above - below > 1) {
    const int64_t middle = below + (above - below) / 2;
    SHOAL_ASSIGN(Network between, build(middle));
    const bool is_wide = between.macs >= options.macs;
    (is_wide ? above : below) = middle;
    (is_wide ? wide : narrow) = std::move(between);
  }
  Network& best = distance(narrow, options.macs) < distance(wide, options.macs) ? narrow : wide;
  if (distance(best, options.macs) > kBudgetTolerance) {
    return invalid("no width of the network has about " + std::to_string(options.macs) +
                   " MACs; the nearest has " + std::to_string(best.macs));
  }
  return std::move(best);
}

Workload workload_of(const Network& network) {
  Workload work{network.dag, {}, {}};
  for (const plan::NodeRange& range : network.nodes) {
    double sum = 0;
    for (size_t i = range.begin; i < range.end; ++i) {
      sum += static_cast<double>(macs(network.graph, network.graph.nodes()[i]));
    }
    const ValueId made = network.graph.nodes()[range.end - 1].outputs[0];
    work.macs.push_back(sum);
    work.bytes.push_back(static_cast<double>(network.graph[made].type.bytes()));
  }
  return work;
}

plan::Plan plan_of(const Network& network, const Schedule& schedule, size_t units) {
  plan::Plan plan;
  for (size_t v = 0; v < network.nodes.size(); ++v) {
    const plan::NodeRange& range = network.nodes[v];
    const std::vector<plan::Piece> pieces = plan::whole_pieces(network.graph, range);
    plan::Segment segment{range, v == 0 ? "every unit" : "one worker", {}};
    const size_t first = schedule.placed[v].unit, last = v == 0 ? units : first + 1;
    for (size_t unit = first; unit < last; ++unit) {
      segment.tasks.push_back({static_cast<int>(unit), pieces});
    }
    plan.segments.push_back(std::move(segment));
  }
  return plan;
}

}  // namespace shoal::concurrent
