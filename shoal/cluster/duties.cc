#include "shoal/cluster/duties.h"

#include <algorithm>

namespace shoal::cluster {

void Duties::start() {
  computer_ = std::thread([this] { compute(); });
}

void Duties::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    work_.notify_all();
  }
  if (computer_.joinable()) computer_.join();
}

Status Duties::add(const DutyPtr& duty) {
  constexpr size_t kMost = 512;  // two rounds of turns, while one takes the place of the other
  const std::lock_guard lock(mutex_);
  if (duties_.size() >= kMost) return Status(Code::kExhausted, "too many plans at once");
  if (!duties_.emplace(duty->plan(), duty).second) return invalid("there is such a plan already");
  return {};
}

DutyPtr Duties::find(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  const auto it = duties_.find(plan);
  return it == duties_.end() ? nullptr : it->second;
}

DutyPtr Duties::find(uint64_t plan, const ChannelPtr& coordinator) const {
  DutyPtr duty = find(plan);
  return duty != nullptr && duty->coordinator() == coordinator ? duty : nullptr;
}

DutyPtr Duties::take(uint64_t plan, const ChannelPtr& coordinator) {
  const std::lock_guard lock(mutex_);
  const auto it = duties_.find(plan);
  if (it == duties_.end() || it->second->coordinator() != coordinator) return nullptr;
  DutyPtr duty = std::move(it->second);
  duties_.erase(it);
  return duty;
}

std::vector<DutyPtr> Duties::take_all(const ChannelPtr& coordinator) {
  const std::lock_guard lock(mutex_);
  std::vector<DutyPtr> taken;
  std::erase_if(duties_, [&](const auto& entry) {
    const bool his = entry.second->coordinator() == coordinator;
    if (his) taken.push_back(entry.second);
    return his;
  });
  return taken;
}

void Duties::look() {
  const std::lock_guard lock(mutex_);
  ++news_;
  work_.notify_all();
}

size_t Duties::count() const {
  const std::lock_guard lock(mutex_);
  return duties_.size();
}

uint64_t Duties::computed() const {
  const std::lock_guard lock(mutex_);
  return computed_;
}

void Duties::compute() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
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

// When a task can run though nothing more comes. Called with the lock held.
std::optional<Deployment::Time> Duties::next_time() const {
  std::optional<Deployment::Time> next;
  for (const auto& [plan, duty] : duties_) {
    const auto its = duty->started() ? duty->next_time() : std::nullopt;
    if (its && (!next || *its < *next)) next = its;
  }
  return next;
}

bool Duties::compute_one() {
  std::vector<DutyPtr> started;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    for (const auto& [plan, duty] : duties_) {
      if (duty->started()) started.push_back(duty);
    }
  }
  const std::lock_guard turn(turn_);
  const auto computes = [&](const DutyPtr& duty) { return duty->compute_one(reached_); };
  if (!std::ranges::any_of(started, computes)) return false;
  const std::lock_guard lock(mutex_);
  ++computed_;
  return true;
}

}  // namespace shoal::cluster
