// Optimal stages by dynamic programming. best[s][u][c] is the least period of s stages over the
// first u workers that compute everything before cut c:
//
//   best[s][u][c] = min over k, b < c of max(best[s-1][u-k][b], period(workers u-k .. u-1, b, c))
//
// O(stages * workers * cuts^2 * most_workers). Optimal for the given order of workers; other orders
// are not tried.
#include "shoal/plan/stream/stages.h"

#include <algorithm>
#include <limits>

#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/choices.h"

namespace shoal::plan {
namespace {

// Periods of stages. A worker of a stage computes one request while it receives the next and sends
// the last, so the slowest of the three decides:
//
//   period = max(compute, bytes in / bandwidth, bytes out / bandwidth)
//
// Workers that take turns add up their rates: 1 / period = sum_w 1 / period_w.
constexpr size_t kMostLive = 2;  // values that one stage gives the next

// Bytes of the values made before a cut and read after it.
std::vector<double> crossing_bytes(const Graph& graph, const std::vector<size_t>& cuts) {
  const std::vector<size_t> last = last_reads(graph);
  std::vector<double> bytes(cuts.size(), 0);
  const auto add = [&](ValueId id, size_t made) {
    for (size_t c = 0; c < cuts.size(); ++c) {
      const bool crosses = made <= cuts[c] && last[static_cast<size_t>(id)] > cuts[c];
      if (crosses) bytes[c] += static_cast<double>(graph[id].type.bytes());
    }
  };
  for (ValueId id : graph.inputs()) add(id, 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].outputs) add(id, i + 1);
  }
  return bytes;
}

// Every node as if it stood alone. In a joint part, rows that a strided window skips would not be
// computed, and which ones those are depends on the stage; this ignores it.
Part nodes_alone(const Graph& graph) {
  Part all;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const NodeRange range{i, i + 1};
    auto part = make_part(graph, range, whole_pieces(graph, range));
    SHOAL_CHECK(part.ok());
    for (PartNode& node : part->nodes) all.nodes.push_back(std::move(node));
  }
  return all;
}

// Prefix sums over nodes at the cuts.
template <class F>
std::vector<double> sums_at(const std::vector<size_t>& cuts, const Part& part, F f) {
  std::vector<double> sums;
  double sum = 0;
  auto node = part.nodes.begin();
  for (size_t cut : cuts) {
    for (; node != part.nodes.end() && node->node < cut; ++node) sum += f(*node);
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

StageCosts::StageCosts(const Graph& graph, const ClusterProfile& cluster)
    : cluster_(cluster),
      cuts_(find_cuts(graph, kMostLive)),
      crossing_(crossing_bytes(graph, cuts_)) {
  const Part whole = nodes_alone(graph);
  weights_ =
      sums_at(cuts_, whole, [&](const PartNode& n) { return work_of(graph, n).weight_bytes; });
  activations_ = activation_bytes(graph, whole);
  for (const WorkerProfile& profile : cluster.workers) {
    seconds_.push_back(sums_at(cuts_, whole, [&](const PartNode& n) {
      return seconds_of(graph, n, work_of(graph, n), profile);
    }));
  }
}

double StageCosts::seconds(int worker, size_t begin, size_t end) const {
  const std::vector<double>& before = seconds_[static_cast<size_t>(worker)];
  return before[end] - before[begin];
}

double StageCosts::period(int worker, size_t begin, size_t end) const {
  const auto w = static_cast<size_t>(worker);
  // The largest node of the whole graph stands for that of the stage: an upper bound.
  const double memory = weights_[end] - weights_[begin] + activations_;
  if (memory > cluster_.workers[w].memory_bytes) return std::numeric_limits<double>::infinity();
  const double bytes = std::max(crossing_[begin], crossing_[end]);
  return std::max(seconds(worker, begin, end), bytes / cluster_.links[w].bytes_per_second);
}

double StageCosts::period(std::span<const int> workers, size_t begin, size_t end) const {
  double rate = 0;
  for (int worker : workers) rate += 1 / period(worker, begin, end);
  return 1 / rate;
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

StageFinder::StageFinder(const Graph& graph, const ClusterProfile& cluster,
                         std::vector<int> workers)
    : costs_(graph, cluster), cuts_(costs_.cuts()), workers_(std::move(workers)) {}

StageFinder::Row StageFinder::extended(const Row& before, size_t most_workers) const {
  Row after(workers_.size() + 1, std::vector<Choice>(cuts_.size(), {kNever, 0, 0}));
  for (size_t used = 0; used < workers_.size(); ++used) {
    for (size_t begin = 0; begin + 1 < cuts_.size(); ++begin) {
      if (before[used][begin].period == kNever) continue;
      for (size_t end = begin + 1; end < cuts_.size(); ++end) {
        double rate = 0;
        for (size_t count = 1; count <= std::min(most_workers, workers_.size() - used); ++count) {
          // Infinite periods, where memory is short, add a rate of 0.
          rate += 1 / costs_.period(workers_[used + count - 1], begin, end);
          const double slowest = std::max(before[used][begin].period, 1 / rate);
          Choice& best = after[used + count][end];
          if (slowest < best.period) best = {slowest, begin, count};
        }
      }
    }
  }
  return after;
}

std::optional<std::vector<Stage>> StageFinder::best(size_t stages, size_t most_workers) const {
  std::vector<Row> rows(
      1, Row(workers_.size() + 1, std::vector<Choice>(cuts_.size(), {kNever, 0, 0})));
  rows[0][0][0].period = 0;
  for (size_t s = 0; s < stages; ++s) rows.push_back(extended(rows.back(), most_workers));
  size_t used = 0, cut = cuts_.size() - 1;
  // Strictly better only: of equal periods, the one with fewest workers.
  for (size_t u = 1; u <= workers_.size(); ++u) {
    if (rows.back()[u][cut].period < rows.back()[used][cut].period) used = u;
  }
  if (rows.back()[used][cut].period == kNever) return std::nullopt;
  std::vector<Stage> found;
  // Back through the choices, from the last stage to the first.
  for (size_t s = stages; s > 0; --s) {
    const Choice& choice = rows[s][used][cut];
    const auto last = workers_.begin() + static_cast<long>(used);
    found.push_back(
        {{cuts_[choice.cut], cuts_[cut]}, {last - static_cast<long>(choice.workers), last}});
    used -= choice.workers;
    cut = choice.cut;
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace shoal::plan
