// Load balancing by greedy descent. With p_s the period of stage s, the potential is
//
//   imbalance = (sum_s p_s^8)^(1/8),
//
// a smooth stand-in for max_s p_s. Each step tries every neighbouring state (a boundary shifted,
// two stages merged, one split, a worker moved, two workers swapped) and takes the best if it
// lowers the potential by 2 %. Every step lowers it, so the descent ends. A step tries O(C W + W^2)
// states, for C cuts and W workers.
#include "shoal/plan/stream/balance.h"

#include <algorithm>
#include <cmath>

#include "shoal/plan/plan.h"

namespace shoal::plan {
namespace {

// A stage by the numbers of its cuts.
struct Slot {
  size_t begin = 0, end = 0;
  std::vector<int> workers;
};
using Slots = std::vector<Slot>;

// A state that one move leads to.
struct Move {
  Slots slots;
  std::string text;
};

std::string worker_text(int worker) { return "worker " + std::to_string(worker); }
std::string stage_text(size_t stage) { return "stage " + std::to_string(stage + 1); }

// The slowest stage counts for nearly all of it. With a plain maximum, relieving one of two equally
// slow stages would gain nothing, and the descent would stop there.
double imbalance(const StageCosts& costs, const Slots& slots) {
  constexpr double kPower = 8;
  double sum = 0;
  for (const Slot& slot : slots) {
    sum += std::pow(costs.period(slot.workers, slot.begin, slot.end), kPower);
  }
  return std::pow(sum, 1 / kPower);
}

// All moves from a state, each tried by the caller's function.
class Moves {
 public:
  explicit Moves(const Slots& slots) : slots_(slots) {}

  template <class Try>
  void each(Try attempt) const {
    for (size_t s = 0; s < slots_.size(); ++s) {
      if (s + 1 < slots_.size()) shift_boundary(s, attempt);
      if (s + 1 < slots_.size()) merge(s, attempt);
      split(s, attempt);
      for (size_t to = 0; to < slots_.size(); ++to) {
        if (to != s) move_worker(s, to, attempt);
        if (to > s) swap_workers(s, to, attempt);
      }
    }
  }

 private:
  template <class Try>
  void shift_boundary(size_t s, Try& attempt) const {
    for (size_t cut = slots_[s].begin + 1; cut < slots_[s + 1].end; ++cut) {
      if (cut == slots_[s].end) continue;
      Slots moved = slots_;
      moved[s].end = moved[s + 1].begin = cut;
      const bool left = cut > slots_[s].end;
      attempt(Move{std::move(moved), "nodes from " + stage_text(left ? s + 1 : s) + " to " +
                                         stage_text(left ? s : s + 1)});
    }
  }

  template <class Try>
  void merge(size_t s, Try& attempt) const {
    attempt(Move{merged(s), stage_text(s) + " and " + stage_text(s + 1) + " become one"});
  }

  Slots merged(size_t s) const {
    Slots moved = slots_;
    moved[s].end = moved[s + 1].end;
    moved[s].workers.insert(moved[s].workers.end(), moved[s + 1].workers.begin(),
                            moved[s + 1].workers.end());
    moved.erase(moved.begin() + static_cast<long>(s) + 1);
    return moved;
  }

  template <class Try>
  void split(size_t s, Try& attempt) const {
    const Slot& slot = slots_[s];
    for (size_t cut = slot.begin + 1; cut < slot.end; ++cut) {
      for (size_t front = 1; front < slot.workers.size(); ++front) {
        const auto middle = slot.workers.begin() + static_cast<long>(front);
        Slots moved = slots_;
        moved[s] = {slot.begin, cut, {slot.workers.begin(), middle}};
        moved.insert(moved.begin() + static_cast<long>(s) + 1,
                     Slot{cut, slot.end, {middle, slot.workers.end()}});
        attempt(Move{std::move(moved), stage_text(s) + " becomes two"});
      }
    }
  }

  // If a stage would be left without a worker, its nodes go to a neighbour.
  template <class Try>
  void move_worker(size_t from, size_t to, Try& attempt) const {
    for (size_t w = 0; w < slots_[from].workers.size(); ++w) {
      const int worker = slots_[from].workers[w];
      Slots moved = slots_;
      moved[from].workers.erase(moved[from].workers.begin() + static_cast<long>(w));
      moved[to].workers.push_back(worker);
      std::string text = worker_text(worker) + " helps " + stage_text(to);
      if (!moved[from].workers.empty()) {
        attempt(Move{std::move(moved), std::move(text)});
        continue;
      }
      for (const bool left : {true, false}) {
        if (left ? from == 0 : from + 1 == moved.size()) continue;
        Slots closed = moved;
        (left ? closed[from - 1].end : closed[from + 1].begin) =
            left ? moved[from].end : moved[from].begin;
        closed.erase(closed.begin() + static_cast<long>(from));
        attempt(Move{std::move(closed), text + ", a neighbour takes its nodes"});
      }
    }
  }

  template <class Try>
  void swap_workers(size_t a, size_t b, Try& attempt) const {
    for (size_t i = 0; i < slots_[a].workers.size(); ++i) {
      for (size_t j = 0; j < slots_[b].workers.size(); ++j) {
        Slots moved = slots_;
        std::swap(moved[a].workers[i], moved[b].workers[j]);
        attempt(Move{std::move(moved), worker_text(slots_[a].workers[i]) + " and " +
                                           worker_text(slots_[b].workers[j]) + " change places"});
      }
    }
  }

  const Slots& slots_;
};

Slots slots_of(const StageCosts& costs, const std::vector<Stage>& stages) {
  const auto number = [&](size_t node) {
    return static_cast<size_t>(std::ranges::lower_bound(costs.cuts(), node) - costs.cuts().begin());
  };
  Slots slots;
  for (const Stage& stage : stages) {
    slots.push_back({number(stage.nodes.begin), number(stage.nodes.end), stage.workers});
  }
  return slots;
}

}  // namespace

Balancer::Balancer(const Graph& graph, ClusterProfile belief, std::vector<Stage> stages)
    : graph_(graph), belief_(std::move(belief)), stages_(std::move(stages)) {}

// A request may take longer than believed because of the worker or because of the nodes. Each is
// given the square root of the ratio, so that their product explains the report; reports about
// other nodes or by other workers tell the two apart.
void Balancer::learn(std::span<const WorkerReport> reports) {
  for (const WorkerReport& report : reports) {
    const auto stage = std::ranges::find_if(stages_, [&](const Stage& s) {
      return std::ranges::find(s.workers, report.worker) != s.workers.end();
    });
    if (stage == stages_.end() || !(report.seconds > 0)) continue;
    WorkerProfile& worker = belief_.workers[static_cast<size_t>(report.worker)];
    const auto part = make_part(graph_, stage->nodes, whole_pieces(graph_, stage->nodes));
    const double believed = part.ok() ? seconds_of(graph_, *part, worker) : 0;
    if (believed <= 0) continue;
    const double factor = std::sqrt(report.seconds / believed);
    scale(worker, factor);
    for (size_t i = stage->nodes.begin; i < stage->nodes.end; ++i) {
      const std::string& name = graph_[graph_.nodes()[i].outputs[0]].name;
      // The nodes' share of the correction holds for all workers: they would compute the same
      // nodes.
      for (WorkerProfile& each : belief_.workers) {
        each.corrections.try_emplace(name, 1).first->second *= factor;
      }
    }
  }
}

std::optional<std::string> Balancer::move() {
  constexpr double kLeastGain = 0.02;  // of the imbalance; less would be noise
  const StageCosts costs(graph_, belief_);
  const Slots slots = slots_of(costs, stages_);
  double least = (1 - kLeastGain) * imbalance(costs, slots);
  std::optional<Move> best;
  Moves(slots).each([&](Move move) {
    const double found = imbalance(costs, move.slots);
    // Negated, so that a NaN is no gain.
    if (!(found < least)) return;
    least = found;
    best = std::move(move);
  });
  if (!best) return std::nullopt;
  stages_.clear();
  for (Slot& slot : best->slots) {
    stages_.push_back(
        {{costs.cuts()[slot.begin], costs.cuts()[slot.end]}, std::move(slot.workers)});
  }
  return std::move(best->text);
}

std::vector<Stage> stages_for(std::vector<Stage> stages, std::set<int> workers) {
  for (Stage& stage : stages) {
    std::erase_if(stage.workers, [&](int worker) { return !workers.contains(worker); });
  }
  for (const Stage& stage : stages) {
    for (int worker : stage.workers) workers.erase(worker);
  }
  for (Stage& stage : stages) {
    if (!stage.workers.empty() || workers.empty()) continue;
    stage.workers.push_back(*workers.begin());
    workers.erase(workers.begin());
  }
  std::vector<Stage> left;
  for (Stage& stage : stages) {
    if (!stage.workers.empty() && !left.empty() && left.back().workers.empty()) {
      // Nodes at the very beginning have no neighbour before them.
      stage.nodes.begin = left.back().nodes.begin;
      left.pop_back();
    }
    if (stage.workers.empty() && !left.empty()) {
      left.back().nodes.end = stage.nodes.end;
    } else {
      left.push_back(std::move(stage));
    }
  }
  for (int worker : workers) {
    const auto share = [](const Stage& stage) {
      return static_cast<double>(stage.nodes.end - stage.nodes.begin) /
             static_cast<double>(stage.workers.size());
    };
    std::ranges::max_element(left, {}, share)->workers.push_back(worker);
  }
  return left;
}

std::vector<Stage> simple_pipeline(const Graph& graph, const std::vector<int>& workers) {
  const std::vector<size_t> cuts = StageCosts(graph, ClusterProfile()).cuts();
  const size_t pieces = cuts.size() - 1, count = std::min(pieces, workers.size());
  std::vector<Stage> stages;
  for (size_t s = 0; s < count; ++s) {
    stages.push_back({{cuts[s * pieces / count], cuts[(s + 1) * pieces / count]}, {workers[s]}});
  }
  return stages;
}

}  // namespace shoal::plan
