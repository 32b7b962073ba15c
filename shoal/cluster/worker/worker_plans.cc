#include "shoal/cluster/worker/worker_plans.h"

#include <algorithm>

namespace shoal::cluster {

void WorkerPlans::start() {
  computer_ = std::thread([this] { compute(); });
}

void WorkerPlans::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    work_.notify_all();
  }
  if (computer_.joinable()) computer_.join();
}

Status WorkerPlans::add(const WorkerPlanPtr& worker_plan) {
  constexpr size_t kMost = 512;  // two rounds of turns, while one replaces the other
  const std::lock_guard lock(mutex_);
  if (worker_plans_.size() >= kMost) return Status(Code::kExhausted, "too many plans at once");
  if (!worker_plans_.emplace(worker_plan->plan(), worker_plan).second)
    return invalid("there is such a plan already");
  return {};
}

WorkerPlanPtr WorkerPlans::find(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  const auto it = worker_plans_.find(plan);
  return it == worker_plans_.end() ? nullptr : it->second;
}

WorkerPlanPtr WorkerPlans::find(uint64_t plan, const ChannelPtr& coordinator) const {
  // A coordinator controls its own plans only; their numbers may be guessed by others.
  WorkerPlanPtr worker_plan = find(plan);
  return worker_plan != nullptr && worker_plan->coordinator() == coordinator ? worker_plan
                                                                             : nullptr;
}

WorkerPlanPtr WorkerPlans::take(uint64_t plan, const ChannelPtr& coordinator) {
  const std::lock_guard lock(mutex_);
  const auto it = worker_plans_.find(plan);
  if (it == worker_plans_.end() || it->second->coordinator() != coordinator) return nullptr;
  WorkerPlanPtr worker_plan = std::move(it->second);
  worker_plans_.erase(it);
  return worker_plan;
}

std::vector<WorkerPlanPtr> WorkerPlans::take_all(const ChannelPtr& coordinator) {
  const std::lock_guard lock(mutex_);
  std::vector<WorkerPlanPtr> taken;
  std::erase_if(worker_plans_, [&](const auto& entry) {
    const bool is_theirs = entry.second->coordinator() == coordinator;
    if (is_theirs) taken.push_back(entry.second);
    return is_theirs;
  });
  return taken;
}

void WorkerPlans::look() {
  const std::lock_guard lock(mutex_);
  ++news_;
  work_.notify_all();
}

size_t WorkerPlans::count() const {
  const std::lock_guard lock(mutex_);
  return worker_plans_.size();
}

uint64_t WorkerPlans::computed() const {
  const std::lock_guard lock(mutex_);
  return computed_;
}

void WorkerPlans::compute() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      // A counter and not a flag: news that come while tasks are computed are not missed.
      const auto has_news = [&] { return stopped_ || news_ != seen; };
      if (const auto until = next_time()) {
        work_.wait_until(lock, *until, has_news);
      } else {
        work_.wait(lock, has_news);
      }
      if (stopped_) return;
      seen = news_;
    }
    while (compute_one()) {
    }
  }
}

// The time at which a task can run although nothing more comes. REQUIRES: mutex_ is held.
std::optional<Deployment::Time> WorkerPlans::next_time() const {
  std::optional<Deployment::Time> next;
  for (const auto& [plan, worker_plan] : worker_plans_) {
    const auto its = worker_plan->started() ? worker_plan->next_time() : std::nullopt;
    if (its && (!next || *its < *next)) next = its;
  }
  return next;
}

// The started plans, beginning after the last that computed: a busy plan does not starve others.
std::vector<WorkerPlanPtr> WorkerPlans::in_turn() const {
  const std::lock_guard lock(mutex_);
  std::vector<WorkerPlanPtr> started;
  if (stopped_) return started;
  const auto add = [&](auto begin, auto end) {
    for (auto it = begin; it != end; ++it) {
      if (it->second->started()) started.push_back(it->second);
    }
  };
  const auto next = worker_plans_.upper_bound(latest_);
  add(next, worker_plans_.end());
  add(worker_plans_.begin(), next);
  return started;
}

bool WorkerPlans::compute_one() {
  const std::vector<WorkerPlanPtr> started = in_turn();
  // Taken after mutex_ has been released: a measurement may hold it for seconds.
  const std::lock_guard turn(turn_);
  const auto computes = [&](const WorkerPlanPtr& worker_plan) {
    return worker_plan->compute_one(reached_);
  };
  // One task at a time; then all plans are looked at again.
  const auto by = std::ranges::find_if(started, computes);
  if (by == started.end()) return false;
  latest_ = (*by)->plan();
  const std::lock_guard lock(mutex_);
  ++computed_;
  return true;
}

}  // namespace shoal::cluster
