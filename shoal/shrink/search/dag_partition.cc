// Partitions by Fiduccia and Mattheyses: see dag_partition.h.
#include "shoal/shrink/search/dag_partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "shoal/base/status.h"

namespace shoal::concurrent {
namespace {

double inner_work(const Workload& work) {
  return std::accumulate(work.macs.begin() + 1, work.macs.end() - 1, 0.0);
}

// A partition under change.
class Cut {
 public:
  Cut(const Workload& work, size_t units, double most, Partition begin)
      : work_(work),
        units_(units),
        most_(most),
        unit_of_(std::move(begin)),
        load_(units + 1, 0),
        members_(work.dag.size(), std::vector<size_t>(units + 1, 0)) {
    for (size_t v = 1; v < sink(); ++v) {
      load_[unit_of_[v]] += work.macs[v];
      ++members_[v][unit_of_[v]];
      for (size_t to : work.dag.successors[v]) ++members_[v][unit_of_[to]];
    }
  }

  // Whether the pass made less travel.
  bool pass() {
    std::vector<bool> moved(work_.dag.size(), false);
    std::vector<std::pair<size_t, size_t>> undo;  // vertex and the unit it came from
    double gain = 0, best_gain = 0;
    size_t best = 0;
    while (undo.size() + 2 < work_.dag.size()) {
      const Move move = best_move(moved);
      if (move.vertex == 0) break;
      undo.emplace_back(move.vertex, unit_of_[move.vertex]);
      moved[move.vertex] = true;
      gain += move.gain;
      apply(move.vertex, move.unit);
      if (gain > best_gain + kRounding * work_.bytes[move.vertex]) {
        best_gain = gain;
        best = undo.size();
      }
    }
    for (size_t i = undo.size(); i-- > best;) apply(undo[i].first, undo[i].second);
    return best > 0;
  }

  const Partition& unit_of() const { return unit_of_; }

 private:
  static constexpr double kRounding = 1e-9;

  struct Move {
    size_t vertex = 0, unit = 0;
    double gain = -std::numeric_limits<double>::infinity();
  };

  size_t sink() const { return work_.dag.sink(); }

  // What a move changes of the bytes of the vertex `of`, which it or a successor belongs to.
  double gain_of(size_t of, size_t from, size_t to) const {
    const int fewer = members_[of][from] == 1, more = members_[of][to] == 0;
    return work_.bytes[of] * (fewer - more);
  }

  Move best_move(const std::vector<bool>& moved) const {
    Move best;
    for (size_t v = 1; v < sink(); ++v) {
      if (moved[v]) continue;
      for (size_t unit = 0; unit < units_; ++unit) {
        if (unit == unit_of_[v] || load_[unit] + work_.macs[v] > most_) continue;
        double gain = gain_of(v, unit_of_[v], unit);
        for (size_t from : work_.dag.predecessors[v]) {
          if (from != 0) gain += gain_of(from, unit_of_[v], unit);
        }
        if (gain > best.gain) best = {v, unit, gain};
      }
    }
    return best;
  }

  void apply(size_t v, size_t unit) {
    const size_t before = std::exchange(unit_of_[v], unit);
    load_[before] -= work_.macs[v];
    load_[unit] += work_.macs[v];
    const auto follow = [&](size_t of) {
      --members_[of][before];
      ++members_[of][unit];
    };
    follow(v);
    for (size_t from : work_.dag.predecessors[v]) {
      if (from != 0) follow(from);
    }
  }

  const Workload& work_;
  const size_t units_;
  const double most_;
  Partition unit_of_;
  std::vector<double> load_;                  // by unit
  std::vector<std::vector<size_t>> members_;  // by vertex and unit: it and its successors there
};

// Inner vertices, each behind a predecessor of its own where one is left.
std::vector<size_t> depth_first(const Dag& dag) {
  std::vector<size_t> order, todo(dag.successors[0].rbegin(), dag.successors[0].rend());
  std::vector<bool> seen(dag.size(), false);
  seen[dag.sink()] = true;
  while (!todo.empty()) {
    const size_t v = todo.back();
    todo.pop_back();
    if (seen[v]) continue;
    seen[v] = true;
    order.push_back(v);
    todo.insert(todo.end(), dag.successors[v].rbegin(), dag.successors[v].rend());
  }
  return order;
}

Partition equal_shares(const Workload& work, size_t units, const std::vector<size_t>& order) {
  const double mean = inner_work(work) / static_cast<double>(units);
  Partition unit_of(work.dag.size(), units);
  double before = 0;
  for (size_t v : order) {
    unit_of[v] = mean > 0 ? std::min(units - 1, static_cast<size_t>(before / mean)) : 0;
    before += work.macs[v];
  }
  return unit_of;
}

}  // namespace

double most_work(const Workload& work, size_t units, double balance) {
  const double mean = inner_work(work) / static_cast<double>(units);
  const double largest = *std::max_element(work.macs.begin() + 1, work.macs.end() - 1);
  return std::max(balance * mean, mean + largest) * (1 + 1e-12);
}

Partition partition(const Workload& work, size_t units, double balance) {
  SHOAL_CHECK(units > 0 && balance >= 1);
  std::vector<size_t> by_number(work.dag.size() - 2);
  std::iota(by_number.begin(), by_number.end(), size_t{1});
  Partition best;
  for (const std::vector<size_t>& order : {by_number, depth_first(work.dag)}) {
    Cut cut(work, units, most_work(work, units, balance), equal_shares(work, units, order));
    while (cut.pass()) {
    }
    if (best.empty() || cut_bytes(work, cut.unit_of()) < cut_bytes(work, best)) {
      best = cut.unit_of();
    }
  }
  return best;
}

Partition partition_of(const Schedule& schedule) {
  Partition unit_of;
  for (const Placement& placement : schedule.placed) unit_of.push_back(placement.unit);
  return unit_of;
}

double cut_bytes(const Workload& work, const Partition& partition) {
  double sum = 0;
  for (size_t v = 1; v < work.dag.sink(); ++v) {
    std::set<size_t> touched{partition[v]};
    for (size_t to : work.dag.successors[v]) touched.insert(partition[to]);
    sum += work.bytes[v] * static_cast<double>(touched.size() - 1);
  }
  return sum;
}

}  // namespace shoal::concurrent
