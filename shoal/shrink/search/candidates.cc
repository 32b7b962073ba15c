// Draws, estimates and simulates candidates.
#include "shoal/shrink/search/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"
#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/plan.h"

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
    const ValueId value = network.graph.nodes()[range.end - 1].outputs[0];
    work.macs.push_back(sum);
    work.bytes.push_back(static_cast<double>(network.graph[value].type.bytes()));
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

namespace shoal::search {

namespace {

using concurrent::Generator;

struct NamedGenerator {
  const char* name;
  Generator generator;
};

// Sparse graphs: what the thesis' tables and [Hadidi 2021, 5.2] compare, without those that are one
// chain.
const std::array<NamedGenerator, 8>& generators() {
  static const std::array<NamedGenerator, 8> all = {{
      {"dp-0.2", concurrent::DistanceProbability{.alpha = 0.2, .probability = 0.9}},
      {"er-0.05", concurrent::ErdosRenyi{0.05}},
      {"ba-1", concurrent::BarabasiAlbert{1}},
      {"ws-0.75", concurrent::WattsStrogatz{.neighbours = 4, .probability = 0.75}},
      {"dp-0.1", concurrent::DistanceProbability{.alpha = 0.1, .probability = 0.9}},
      {"er-0.1", concurrent::ErdosRenyi{0.1}},
      {"ba-2", concurrent::BarabasiAlbert{2}},
      {"ws-1", concurrent::WattsStrogatz{.neighbours = 2, .probability = 1}},
  }};
  return all;
}

concurrent::Units units_of(const Space& space) {
  const plan::OperatorSpeed& speed = space.worker.speed_of("Conv");
  return {.count = space.units,
          .macs_per_second = 1 / speed.seconds_per_mac,
          .bytes_per_second = space.link.bytes_per_second,
          .latency_seconds = space.link.latency_seconds};
}

plan::ClusterProfile cluster_of(const Space& space) {
  const size_t workers = space.units + 1;
  return {.workers = std::vector(workers, space.worker),
          .links = std::vector(workers, space.link),
          .coordinator = space.link};
}

Result<Candidate> estimated(std::string name, concurrent::Dag dag, const Space& space) {
  Candidate candidate{.name = std::move(name), .dag = std::move(dag)};
  SHOAL_ASSIGN(const concurrent::Network network, network_of(candidate, space, 1));
  candidate.estimated_seconds =
      concurrent::best_score(workload_of(network), space.units).seconds(units_of(space));
  return candidate;
}

}  // namespace

Status check(const Space& space) {
  constexpr size_t kMostUnits = 256, kMostVertices = 256;
  constexpr size_t kFewestVertices = 24;  // or stages are too small for the control
  if (space.units < 1 || space.units > kMostUnits) return invalid("1 to 256 units");
  if (space.vertices < kFewestVertices || space.vertices > kMostVertices) {
    return invalid("24 to 256 vertices");
  }
  if (!(space.worker.speed_of("Conv").seconds_per_mac > 0)) {
    return invalid("the speed of a unit is not known");
  }
  if (!(space.link.bytes_per_second > 0)) return invalid("the speed of a link is not known");
  return {};
}

Result<Candidate> draw(const Space& space, uint64_t number) {
  const NamedGenerator& drawn = generators()[number % generators().size()];
  SHOAL_ASSIGN(concurrent::Dag dag, concurrent::generate(drawn.generator, space.vertices, number));
  return estimated(std::string(drawn.name) + "-" + std::to_string(number), std::move(dag), space);
}

Result<double> staged_control_seconds(const Space& space, size_t count) {
  const auto stages = static_cast<size_t>(std::max(2, space.network.levels));
  std::vector<double> seconds;
  for (uint64_t seed = 0; seed < count; ++seed) {
    auto dag = concurrent::generate_staged(concurrent::WattsStrogatz{}, space.vertices, stages,
                                           stages * seed);
    SHOAL_TRY(dag.status());
    const Candidate candidate{.name = "staged", .dag = *std::move(dag)};
    const auto time = simulated_seconds(candidate, space);
    if (time.ok()) seconds.push_back(*time);  // else no width gives the budget
  }
  if (seconds.empty()) return invalid("no network with stages has about so many multiplications");
  std::ranges::nth_element(seconds,
                           seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

Result<concurrent::Network> network_of(const Candidate& candidate, const Space& space,
                                       int64_t batch) {
  concurrent::NetworkOptions options = space.network;
  options.batch = batch;
  return concurrent::make_network(candidate.dag, options);
}

Result<double> simulated_seconds(const Candidate& candidate, const Space& space) {
  SHOAL_ASSIGN(const concurrent::Network network, network_of(candidate, space, 1));
  const concurrent::Schedule schedule =
      concurrent::make_schedule(workload_of(network), units_of(space));
  SHOAL_ASSIGN(const plan::ScheduledPlan scheduled,
               plan::ScheduledPlan::make(network.graph,
                                         concurrent::plan_of(network, schedule, space.units)));
  return plan::simulate(scheduled.graph(), scheduled.plan(), scheduled.schedule(),
                        cluster_of(space))
      .seconds;
}

Result<std::vector<Candidate>> fastest_candidates(const Space& space, uint64_t first, size_t drawn,
                                                  size_t simulated,
                                                  const std::function<void(size_t)>& done) {
  SHOAL_TRY(check(space));
  std::vector<Candidate> all;
  for (size_t i = 0; i < drawn; ++i) {
    auto candidate = draw(space, first + i);
    if (candidate.ok()) all.push_back(*std::move(candidate));
    if (done) done(i + 1);
  }
  if (all.empty()) return invalid("no candidate has about so many multiply-accumulates");
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimated_seconds < b.estimated_seconds;
  });
  all.resize(std::min(all.size(), simulated));
  for (size_t i = 0; i < all.size(); ++i) {
    SHOAL_ASSIGN(all[i].simulated_seconds, simulated_seconds(all[i], space));
    if (done) done(drawn + i + 1);
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.simulated_seconds < b.simulated_seconds;
  });
  return all;
}

}  // namespace shoal::search
