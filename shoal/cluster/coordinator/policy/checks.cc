#include "shoal/cluster/coordinator/policy/checks.h"

#include <algorithm>

#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {
namespace {

constexpr std::chrono::seconds kTimeout{2};
// Each holds inputs and pieces. A worker that reports nothing must not make them many.
constexpr size_t kMostOpen = 8;
constexpr size_t kMostDisputed = 16;  // waiting for evaluation

}  // namespace

size_t pieces_of(const plan::ScheduledPlan& scheduled, int machine) {
  size_t count = 0;
  for (const plan::Transfer& transfer : scheduled.schedule().transfers) {
    if (transfer.to == machine && transfer.from != plan::kCoordinator) ++count;
  }
  for (const plan::Segment& segment : scheduled.plan().segments) {
    for (const plan::Task& task : segment.tasks) {
      if (task.worker == machine) count += task.outputs.size();
    }
  }
  return count;
}

void Checks::set_interval(uint64_t interval) {
  interval_ = interval;
  drawn_ = 0;
}

// One of every interval_ requests, at a random place among them: the cost is as even as with every
// n-th, and cannot be foreseen.
bool Checks::draw() {
  if (interval_ == 0) return false;
  if (drawn_ == 0) chosen_ = random_() % interval_;
  const bool is_chosen = drawn_ == chosen_;
  drawn_ = (drawn_ + 1) % interval_;
  return is_chosen;
}

void Checks::watch(const Attempt& attempt) {
  if (is_on()) watched_[attempt.id] = attempt.deployed;
}

bool Checks::arrive(uint64_t attempt, const std::string& worker, const plan::Piece& piece,
                    const Tensor& elements) {
  if (!watched_.contains(attempt)) return false;
  const auto disputes = witness_.add(attempt, worker, piece, elements);
  return disputes && report(plan::kCoordinator, attempt, *disputes);
}

std::optional<TensorType> Checks::expect(int worker, uint64_t attempt,
                                         const plan::Piece& piece) const {
  const auto it = watched_.find(attempt);
  if (it == watched_.end()) return std::nullopt;
  const plan::ScheduledPlan& scheduled = it->second->scheduled;
  const bool planned =
      std::ranges::any_of(scheduled.schedule().transfers, [&](const auto& transfer) {
        return transfer.from == worker && transfer.to == plan::kCoordinator &&
               transfer.piece == piece;
      });
  if (!planned) return std::nullopt;
  return TensorType{scheduled.graph()[piece.value].type.dtype, piece.region.shape()};
}

bool Checks::begin(const Attempt& attempt, std::span<const Tensor> inputs, Time now) {
  const plan::ScheduledPlan& scheduled = attempt.deployed->scheduled;
  const bool is_drawn = scheduled.plan().survives > 0 && draw();
  if (!is_drawn || open_.size() >= kMostOpen) {
    if (is_drawn) ++tally_.dropped;
    drop(attempt.id);
    return false;
  }
  Open& open = open_[attempt.id];
  open.request.attempt = attempt;
  for (const Tensor& input : inputs) open.request.inputs.push_back(input.clone());
  open.request.tolerance = plan::rounding_bound(scheduled.graph());
  open.since = now;
  for (int worker : plan::workers_of(scheduled.plan())) open.awaited.insert(worker);
  open.awaited.insert(plan::kCoordinator);
  const CheckOrder order{pieces_of(scheduled, plan::kCoordinator), open.request.tolerance};
  if (const auto disputes = witness_.check(attempt.id, order)) {
    report(plan::kCoordinator, attempt.id, *disputes);
  }
  return true;
}

void Checks::drop(uint64_t attempt) {
  if (watched_.erase(attempt) > 0) witness_.forget(attempt);
}

bool Checks::report(int worker, uint64_t attempt, const std::vector<Dispute>& disputes) {
  const auto it = open_.find(attempt);
  if (it == open_.end() || it->second.awaited.erase(worker) == 0) return false;
  for (const Dispute& dispute : disputes) it->second.request.disputes.push_back({worker, dispute});
  if (!it->second.awaited.empty()) return false;
  ++tally_.checked;
  return close(it);
}

// True if there is a dispute to evaluate.
bool Checks::close(std::map<uint64_t, Open>::iterator open) {
  DisputedRequest request = std::move(open->second.request);
  open_.erase(open);
  drop(request.attempt.id);
  if (request.disputes.empty() || disputed_.size() >= kMostDisputed) return false;
  ++tally_.disputed;
  disputed_.push_back(std::move(request));
  return true;
}

void Checks::lose(int worker) {
  for (auto it = open_.begin(); it != open_.end();) {
    const auto workers = plan::workers_of(it->second.request.attempt.deployed->scheduled.plan());
    const bool uses = std::ranges::find(workers, worker) != workers.end();
    if (uses) {
      drop(it->first);
      ++tally_.dropped;
    }
    it = uses ? open_.erase(it) : std::next(it);
  }
}

// Evaluates the reports so far: a worker that never reports must not protect others.
std::vector<Attempt> Checks::expire(Time now) {
  std::vector<Attempt> expired;
  for (auto it = open_.begin(); it != open_.end();) {
    const auto next = std::next(it);
    if (now >= it->second.since + kTimeout) {
      expired.push_back(it->second.request.attempt);
      ++tally_.dropped;
      close(it);
    }
    it = next;
  }
  return expired;
}

std::vector<DisputedRequest> Checks::take_disputed() { return std::exchange(disputed_, {}); }

}  // namespace shoal::cluster
