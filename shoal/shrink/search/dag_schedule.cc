// List scheduling with communication, partitions and their scores.
#include "shoal/shrink/search/dag_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
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

double inner_work(const Workload& work) {
  return std::accumulate(work.macs.begin() + 1, work.macs.end() - 1, 0.0);
}

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

double cut_bytes(const Workload& work, const Partition& partition) {
  double sum = 0;
  for (size_t v = 1; v < work.dag.sink(); ++v) {
    std::set<size_t> touched{partition[v]};
    for (size_t to : work.dag.successors[v]) touched.insert(partition[to]);
    sum += work.bytes[v] * static_cast<double>(touched.size() - 1);
  }
  return sum;
}

double Score::cs() const { return std::cbrt(delta * std::pow(lambda_prime, 1.5) * eta); }

double Score::seconds(const Units& units) const {
  return std::max(eta, delta) * share / units.macs_per_second +
         lambda / (static_cast<double>(units.count) * units.bytes_per_second);
}

Score score(const Workload& work, const Partition& partition, size_t units) {
  const Dag& dag = work.dag;
  std::vector<double> macs = work.macs;
  macs.front() = macs.back() = 0;
  std::vector<double> load(units, 0);
  Score score;
  score.lambda = cut_bytes(work, partition);
  double smallest = work.bytes[1];
  for (size_t v = 1; v < dag.sink(); ++v) {
    SHOAL_CHECK(macs[v] > 0 && work.bytes[v] > 0);
    load[partition[v]] += macs[v];
    smallest = std::min(smallest, work.bytes[v]);
  }
  const double n = static_cast<double>(units);
  const double mean = std::accumulate(macs.begin(), macs.end(), 0.0) / n;
  score.share = mean;
  score.eta = longest_path(dag, macs) / mean;
  score.delta = *std::max_element(load.begin(), load.end()) / mean;
  score.lambda_prime = score.lambda / (smallest * n);
  return score;
}

Score best_score(const Workload& work, size_t units) {
  Score best;
  bool first = true;
  for (const double balance : {1.0, 1.25, 1.5}) {
    const Score other = score(work, partition(work, units, balance), units);
    if (std::exchange(first, false) || other.cs() < best.cs()) best = other;
  }
  return best;
}

}  // namespace shoal::concurrent
