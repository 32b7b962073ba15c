#include "shoal/serve/queue/queue_scheduler.h"

#include <algorithm>

namespace shoal::serve {
namespace {

Admission not_loaded() {
  Admission refused;
  refused.status = Status(Code::kNotFound, "the model is not loaded");
  return refused;
}

}  // namespace

void Scheduler::add(uint64_t model, const QueueOptions& options) {
  const bool added = models_.try_emplace(model, Entry{ModelQueue(options)}).second;
  SHOAL_CHECK(added);
}

void Scheduler::drain(uint64_t model) { models_.at(model).queue.drain(); }

void Scheduler::remove(uint64_t model) {
  SHOAL_CHECK(is_idle(model));
  models_.erase(model);
}

bool Scheduler::is_idle(uint64_t model) const {
  const Entry& entry = models_.at(model);
  return entry.running == 0 && entry.queue.waiting() == 0;
}

Admission Scheduler::check(uint64_t model, const QueuedRequest& request, Time now) const {
  const auto it = models_.find(model);
  return it != models_.end() ? it->second.queue.check(request, now) : not_loaded();
}

Admission Scheduler::admit(uint64_t model, const QueuedRequest& request, Time now) {
  const auto it = models_.find(model);
  return it != models_.end() ? it->second.queue.admit(request, now) : not_loaded();
}

bool Scheduler::cancel(uint64_t model, uint64_t request) {
  const auto it = models_.find(model);
  return it != models_.end() && it->second.queue.cancel(request);
}

SchedulerDecision Scheduler::next(Time now) {
  SchedulerDecision all;
  // The model after the one that had the latest turn, by number, and around.
  auto it = models_.upper_bound(latest_);
  for (size_t i = 0; i < models_.size(); ++i, ++it) {
    if (it == models_.end()) it = models_.begin();
    auto& [model, entry] = *it;
    Decision one = entry.queue.next(now, free_slots_ > 0 && all.batch.empty());
    all.late.insert(all.late.end(), one.late.begin(), one.late.end());
    if (one.batch.empty()) continue;
    all.batch = std::move(one.batch);
    all.items = one.items;
    all.model = latest_ = model;
    ++entry.running;
    --free_slots_;
  }
  return all;
}

void Scheduler::ended(uint64_t model, int64_t items, std::optional<Duration> took) {
  Entry& entry = models_.at(model);
  SHOAL_CHECK(entry.running > 0);
  --entry.running;
  ++free_slots_;
  if (took) entry.queue.learn(items, *took);
}

void Scheduler::learn(uint64_t model, int64_t items, Duration took) {
  models_.at(model).queue.learn(items, took);
}

Time Scheduler::wake() const {
  Time first = kNever;
  for (const auto& [model, entry] : models_) {
    first = std::min(first, entry.queue.wake(free_slots_ > 0));
  }
  return first;
}

std::optional<Duration> Scheduler::expected(uint64_t model) const {
  const auto it = models_.find(model);
  if (it == models_.end() || free_slots_ == 0 || it->second.queue.waiting() > 0) {
    return std::nullopt;
  }
  const Duration took = it->second.queue.expected(1);
  return took > Duration(0) ? std::optional(took) : std::nullopt;
}

size_t Scheduler::waiting(uint64_t model) const {
  const auto it = models_.find(model);
  return it == models_.end() ? 0 : it->second.queue.waiting();
}

}  // namespace shoal::serve
