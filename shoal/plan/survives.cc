// Survival by abstract execution: the walk carries out the schedule without computing, keeps the
// boxes that each machine holds, and lets lost workers produce nothing. Losing fewer workers never
// makes a machine hold less, so only the sets of exactly plan.survives workers are tried:
// C(workers, survives) walks. This check trusts the schedule alone and not the code that made the
// plan redundant.
#include "shoal/plan/survives.h"

#include <algorithm>
#include <map>
#include <set>

#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/part.h"

namespace shoal::plan {
namespace {

// The boxes that each machine holds, segment after segment.
class Walk {
 public:
  Walk(const Graph& graph, const Plan& plan, const Schedule& schedule, std::span<const int> lost)
      : graph_(graph), plan_(plan), schedule_(schedule), stuck_(lost.begin(), lost.end()) {}

  bool run() {
    for (ValueId id : graph_.inputs()) add(kCoordinator, whole(id));
    for (size_t s = 0; s < plan_.segments.size(); ++s) {
      deliver(s);
      for (size_t t = 0; t < plan_.segments[s].tasks.size(); ++t) compute(s, t);
    }
    deliver(plan_.segments.size());
    return std::ranges::all_of(graph_.outputs(), [&](ValueId id) {
      return graph_[id].constant || has(kCoordinator, whole(id));
    });
  }

 private:
  Piece whole(ValueId id) const { return {id, Region::whole(graph_[id].type.shape)}; }

  void add(int worker, const Piece& piece) { held_[{piece.value, worker}].push_back(piece.region); }

  bool has(int worker, const Piece& piece) const {
    std::vector<Region> missing = {piece.region};
    const auto held = held_.find({piece.value, worker});
    if (held == held_.end()) return is_empty(piece.region);
    for (const Region& region : held->second) missing = subtract(std::move(missing), region);
    return std::ranges::all_of(missing, is_empty);
  }

  // Transfers are in the order of segments, so one index walks through them. A sender that lacks
  // even one element of a piece sends none of it, as a worker would.
  void deliver(size_t segment) {
    for (; sent_ < schedule_.transfers.size(); ++sent_) {
      const Transfer& transfer = schedule_.transfers[sent_];
      if (transfer.segment != segment) return;
      if (has(transfer.from, transfer.piece)) add(transfer.to, transfer.piece);
    }
  }

  void decode(int worker, const CodeRead& read) {
    const auto is_here = [&](const Piece& piece) { return has(worker, piece); };
    const auto here =
        std::ranges::count_if(read.data, is_here) + std::ranges::count_if(read.parity, is_here);
    // Any N members of a code determine all N data; check_coefficients() has made sure of it.
    if (here < std::ssize(read.data)) return;
    for (const Piece& piece : read.data) add(worker, piece);
  }

  // Tasks of a worker run in order: one that cannot holds up the others.
  void compute(size_t s, size_t t) {
    const Task& task = plan_.segments[s].tasks[t];
    if (stuck_.contains(task.worker)) return;
    for (const CodeRead& read : schedule_.code_reads[s][t]) decode(task.worker, read);
    const bool can = std::ranges::all_of(
        schedule_.parts[s][t].inputs, [&](const Piece& piece) { return has(task.worker, piece); });
    if (!can) {
      stuck_.insert(task.worker);
      return;
    }
    for (const Piece& piece : task.outputs) add(task.worker, piece);
  }

  const Graph& graph_;
  const Plan& plan_;
  const Schedule& schedule_;
  std::set<int> stuck_;
  std::map<std::pair<ValueId, int>, std::vector<Region>> held_;  // by value and machine
  size_t sent_ = 0;
};

std::string list(const std::vector<int>& workers) {
  std::string text;
  for (int worker : workers) text += (text.empty() ? "" : ", ") + std::to_string(worker);
  return text;
}

}  // namespace

bool survives_loss(const Graph& graph, const Plan& plan, const Schedule& schedule,
                   std::span<const int> lost) {
  return Walk(graph, plan, schedule, lost).run();
}

Status verify_survival(const Graph& graph, const Plan& plan, const Schedule& schedule) {
  if (plan.survives == 0) return {};
  const std::vector<int> workers = workers_of(plan);
  const size_t losses = std::min(static_cast<size_t>(plan.survives), workers.size());
  // Permutations of a mask with `losses` bits set enumerate the sets.
  std::vector<bool> is_lost(workers.size());
  std::fill_n(is_lost.begin(), losses, true);
  do {
    std::vector<int> lost;
    for (size_t i = 0; i < workers.size(); ++i) {
      if (is_lost[i]) lost.push_back(workers[i]);
    }
    if (!survives_loss(graph, plan, schedule, lost)) {
      return invalid("the plan cannot do without workers " + list(lost));
    }
  } while (std::prev_permutation(is_lost.begin(), is_lost.end()));
  return {};
}

}  // namespace shoal::plan
