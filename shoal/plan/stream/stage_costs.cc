// Periods of stages. A worker of a stage computes one request while it receives the next and sends
// the last, so the slowest of the three decides:
//
//   period = max(compute, bytes in / bandwidth, bytes out / bandwidth)
//
// Workers that take turns add up their rates: 1 / period = sum_w 1 / period_w.
#include "shoal/plan/stream/stage_costs.h"

#include <algorithm>
#include <limits>

#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/cuts.h"

namespace shoal::plan {
namespace {

constexpr size_t kMostLive = 2;  // values that one stage gives the next

// Bytes of the values that are there before a cut and read after it.
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
    const NodeRange one{i, i + 1};
    auto part = make_part(graph, one, whole_pieces(graph, one));
    SHOAL_CHECK(part.ok());
    for (PartNode& node : part->nodes) all.nodes.push_back(std::move(node));
  }
  return all;
}

// Sums over nodes, as they stand at the cuts.
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

}  // namespace shoal::plan
