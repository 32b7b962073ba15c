// List scheduling with communication: see schedule.h.
#include "shoal/shrink/search/dag_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "shoal/base/status.h"

namespace shoal::concurrent {
namespace {

double seconds_of(const Workload& work, const Units& units, size_t v) {
  return work.macs[v] / units.macs_per_second;
}

double sending_seconds(const Workload& work, const Units& units, size_t v) {
  return units.latency_seconds + work.bytes[v] / units.bytes_per_second;
}

// A schedule that grows by one vertex at a time.
class Growing {
 public:
  Growing(const Workload& work, const Units& units)
      : work_(work), units_(units), free_(units.count + 1, seconds_of(work, units, 0)) {
    made_.placed.resize(work.dag.size());
    made_.placed[0].end = free_[0];
    free_[units.count] = 0;
  }

  Placement earliest(size_t v, size_t unit) const {
    double begin = free_[unit];
    for (size_t from : work_.dag.predecessors[v]) {
      const Placement& source = made_.placed[from];
      const bool is_here = from == 0 || source.unit == unit;
      begin = std::max(begin, source.end + (is_here ? 0 : sending_seconds(work_, units_, from)));
    }
    return {unit, begin, begin + seconds_of(work_, units_, v)};
  }

  void place(size_t v, const Placement& placement) {
    made_.placed[v] = placement;
    free_[placement.unit] = placement.end;
  }

  Schedule finish() {
    place(work_.dag.sink(), earliest(work_.dag.sink(), units_.count));
    return std::move(made_);
  }

 private:
  const Workload& work_;
  const Units& units_;
  std::vector<double> free_;  // by unit, from then on
  Schedule made_;
};

// Inner vertices by descending rank. Those of equal rank stay in the order of their numbers, so the
// order is topological even where vertices cost nothing.
std::vector<size_t> by_rank(const Workload& work, const Units& units) {
  const Dag& dag = work.dag;
  std::vector<double> rank(dag.size(), 0);
  for (size_t v = dag.size(); v-- > 0;) {
    for (size_t to : dag.successors[v]) {
      rank[v] = std::max(rank[v], sending_seconds(work, units, v) + rank[to]);
    }
    rank[v] += seconds_of(work, units, v);
  }
  std::vector<size_t> order(dag.size() - 2);
  std::iota(order.begin(), order.end(), size_t{1});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank[a] > rank[b]; });
  return order;
}

Schedule list_schedule(const Workload& work, const Units& units, const std::vector<size_t>& order) {
  Growing growing(work, units);
  for (size_t v : order) {
    Placement best = growing.earliest(v, 0);
    for (size_t unit = 1; unit < units.count; ++unit) {
      const Placement other = growing.earliest(v, unit);
      if (other.end < best.end) best = other;
    }
    growing.place(v, best);
  }
  return growing.finish();
}

// The list schedule, made shorter by small changes.
class Search {
 public:
  Search(const Workload& work, const Units& units)
      : work_(work),
        units_(units),
        order_(by_rank(work, units)),
        best_(list_schedule(work, units, order_)) {
    for (const Placement& placement : best_.placed) unit_of_.push_back(placement.unit);
  }

  const Schedule& best() const { return best_; }

  // Each vertex to the unit where the whole ends first. Whether that helped.
  bool move_vertices() {
    bool helped = false;
    for (size_t v : order_) {
      size_t chosen = unit_of_[v];
      for (size_t unit = 0; unit < units_.count; ++unit) {
        unit_of_[v] = unit;
        if (!is_better()) continue;
        chosen = unit;
        helped = true;
      }
      unit_of_[v] = chosen;
    }
    return helped;
  }

  // Each vertex before the one that precedes it in the order, unless it needs that.
  bool swap_neighbours() {
    bool helped = false;
    for (size_t i = 1; i < order_.size(); ++i) {
      const std::vector<size_t>& needed = work_.dag.predecessors[order_[i]];
      if (std::find(needed.begin(), needed.end(), order_[i - 1]) != needed.end()) continue;
      std::swap(order_[i - 1], order_[i]);
      if (is_better()) {
        helped = true;
      } else {
        std::swap(order_[i - 1], order_[i]);
      }
    }
    return helped;
  }

 private:
  // And keeps the schedule if so. Rounding does not count, or the search might go round in circles.
  bool is_better() {
    Schedule other = carry_out(work_, units_, order_, unit_of_);
    if (other.seconds() >= best_.seconds() * (1 - 1e-12)) return false;
    best_ = std::move(other);
    return true;
  }

  const Workload& work_;
  const Units& units_;
  std::vector<size_t> order_;
  std::vector<size_t> unit_of_;  // by vertex
  Schedule best_;
};

}  // namespace

Workload uniform_workload(Dag dag, double macs, double bytes) {
  const size_t size = dag.size();
  Workload work{std::move(dag), std::vector(size, macs), std::vector(size, bytes)};
  for (size_t end : {size_t{0}, size - 1}) work.macs[end] = work.bytes[end] = 0;
  return work;
}

Schedule carry_out(const Workload& work, const Units& units, const std::vector<size_t>& order,
                   const std::vector<size_t>& unit_of) {
  Growing growing(work, units);
  for (size_t v : order) growing.place(v, growing.earliest(v, unit_of[v]));
  return growing.finish();
}

Schedule make_schedule(const Workload& work, const Units& units) {
  SHOAL_CHECK(units.count > 0 && units.macs_per_second > 0 && units.bytes_per_second > 0);
  Search search(work, units);
  while (search.move_vertices() || search.swap_neighbours()) {
  }
  return search.best();
}

}  // namespace shoal::concurrent
