// Hill climbing over chains. The dynamic programme estimates times segment by segment and keeps few
// ways at each cut, so its best chain is rarely optimal under the full simulation. Four moves
// (another layout, join, cut in two, other shares) are tried at every segment until none helps or
// the tries are used up. A change must gain 0.01 %, so that rounding errors of equal plans do not
// use up the tries.
#include <algorithm>
#include <limits>
#include <map>

#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/search/segment_search.h"

namespace shoal::plan {
namespace {

// Weights of all tasks of a worker stay in memory; activations only of its largest task.
bool fits(const Candidates& candidates, const Chain& chain) {
  const std::vector<WorkerProfile>& workers = candidates.cluster().workers;
  std::vector<double> weights(workers.size()), activations(workers.size());
  for (const Candidate* candidate : chain) {
    for (size_t t = 0; t < candidate->tasks.size(); ++t) {
      const auto w = static_cast<size_t>(candidate->tasks[t].worker);
      weights[w] += candidate->weight_bytes[t];
      activations[w] = std::max(activations[w], candidate->activation_bytes[t]);
    }
  }
  for (size_t w = 0; w < workers.size(); ++w) {
    if (weights[w] + activations[w] > workers[w].memory_bytes) return false;
  }
  return true;
}

class Polisher {
 public:
  Polisher(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts, size_t tries)
      : candidates_(candidates),
        layouts_(layouts),
        tries_(tries),
        best_(std::move(chain)),
        seconds_(simulated_seconds(candidates, best_)) {}

  Chain run() {
    // best_.size() changes inside of the loop, when segments are joined or cut.
    for (bool better = true; better && tries_ > 0;) {
      better = false;
      for (size_t i = 0; i < best_.size(); ++i) {
        better = change_layout(i) || better;
        better = join(i) || better;
        better = cut_in_two(i) || better;
        better = change_shares(i) || better;
      }
    }
    return std::move(best_);
  }

 private:
  // Segments [from, from + count) replaced by others. Keeps it if it is faster.
  bool attempt(size_t from, size_t count, const Chain& others) {
    if (tries_ == 0 || std::ranges::find(others, nullptr) != others.end()) return false;
    --tries_;
    Chain chain(best_.begin(), best_.begin() + static_cast<long>(from));
    chain.insert(chain.end(), others.begin(), others.end());
    chain.insert(chain.end(), best_.begin() + static_cast<long>(from + count), best_.end());
    const double seconds = simulated_seconds(candidates_, chain);
    if (seconds >= seconds_ * (1 - kWorthIt)) return false;
    best_ = std::move(chain);
    seconds_ = seconds;
    return true;
  }

  bool change_layout(size_t i) {
    bool better = false;
    for (size_t layout : layouts_) {
      const Candidate& now = *best_[i];
      if (layout == now.layout) continue;
      better = attempt(i, 1, {candidates_.find(now.begin, now.end, layout)}) || better;
    }
    return better;
  }

  bool join(size_t i) {
    if (i + 1 >= best_.size()) return false;
    const Candidate &a = *best_[i], &b = *best_[i + 1];
    if (attempt(i, 2, {candidates_.find(a.begin, b.end, a.layout)})) return true;
    return a.layout != b.layout && attempt(i, 2, {candidates_.find(a.begin, b.end, b.layout)});
  }

  bool cut_in_two(size_t i) {
    const Candidate& now = *best_[i];
    for (size_t at = now.begin + 1; at < now.end; ++at) {
      const Chain two = {candidates_.find(now.begin, at, now.layout),
                         candidates_.find(at, now.end, now.layout)};
      if (attempt(i, 1, two)) return true;
    }
    return false;
  }

  // Moves shares within this segment and all that follow with the same layout: shares that differ
  // between neighbouring segments make their border travel. Only the first of such a run does it.
  bool change_shares(size_t i) {
    constexpr size_t kMostWorkers = 6;
    const size_t number = best_[i]->layout;
    const size_t workers = candidates_.layout(number).workers.size();
    if (workers < 2 || workers > kMostWorkers) return false;
    if (i > 0 && best_[i - 1]->layout == number) return false;
    size_t end = i;
    while (end < best_.size() && best_[end]->layout == number) ++end;
    for (size_t from = 0; from < workers; ++from) {
      for (size_t to = 0; to < workers; ++to) {
        if (from != to && (shift(i, end, from, to) || shift(i, i + 1, from, to))) return true;
        if (from < to && exchange(i, end, from, to)) return true;
      }
    }
    return false;
  }

  bool shift(size_t begin, size_t end, size_t from, size_t to) {
    for (double part : {0.5, 0.15}) {
      Layout layout = candidates_.layout(best_[begin]->layout);
      const double moved = part * layout.shares[from];
      layout.shares[from] -= moved;
      layout.shares[to] += moved;
      if (attempt_layout(begin, end, layout)) return true;
    }
    return false;
  }

  // Two workers change places: it matters which workers are neighbours and which is sent to first.
  bool exchange(size_t begin, size_t end, size_t a, size_t b) {
    Layout layout = candidates_.layout(best_[begin]->layout);
    std::swap(layout.workers[a], layout.workers[b]);
    std::swap(layout.shares[a], layout.shares[b]);
    return attempt_layout(begin, end, layout);
  }

  // Tries the layout for all of segments [begin, end) at once.
  bool attempt_layout(size_t begin, size_t end, const Layout& layout) {
    const size_t number = candidates_.add(layout);
    Chain others;
    for (size_t i = begin; i < end; ++i) {
      others.push_back(candidates_.find(best_[i]->begin, best_[i]->end, number));
    }
    return attempt(begin, end - begin, others);
  }

  static constexpr double kWorthIt = 1e-4;

  Candidates& candidates_;
  const std::vector<size_t>& layouts_;
  size_t tries_;
  Chain best_;
  double seconds_;
};

}  // namespace

double simulated_seconds(const Candidates& candidates, const Chain& chain) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!fits(candidates, chain)) return kNever;
  const Plan plan = plan_of(candidates, chain);
  std::vector<const TaskInputs*> inputs;
  std::vector<std::span<const double>> seconds;
  for (const Candidate* candidate : chain) {
    inputs.push_back(&candidate->inputs);
    seconds.push_back(candidate->seconds);
  }
  const auto transfers = find_transfers(candidates.graph(), plan, inputs);
  if (!transfers.ok()) return kNever;
  Steps steps = make_steps(candidates.graph(), plan, seconds, *transfers, candidates.cluster());
  // Copies and parities are not in the plan yet, but take their time on the way.
  std::map<ValueId, double> copies;
  for (const Candidate* candidate : chain) {
    for (const Task& task : candidate->tasks) {
      for (const Piece& piece : task.outputs) copies[piece.value] = candidate->copies;
    }
  }
  for (size_t i = 0; i < steps.messages.size(); ++i) {
    const auto made = copies.find((*transfers)[i].piece.value);
    if (made != copies.end()) steps.messages[i].seconds *= made->second;
  }
  return answer_seconds(steps, candidates.cluster());
}

Chain local_search(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts,
                   size_t tries) {
  return Polisher(candidates, std::move(chain), layouts, tries).run();
}

}  // namespace shoal::plan
