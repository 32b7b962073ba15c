#include "shoal/variants/scheduler/forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shoal::schedule {
namespace {

constexpr double kPriorRequests = 20;                 // seen before today counts more than usual
constexpr double kPriorUp = 0.05, kUsuallyUp = 0.95;  // of a day, and its share with a link
constexpr double kRateWindow = 1.0 / 24;              // of a day
constexpr double kMostDays = 7;                       // that count, of those that have passed

}  // namespace

Forecast::Forecast(std::vector<double> per_day, double seconds)
    : seconds_(seconds),
      up_seconds_(kPriorUp * kUsuallyUp * seconds),
      all_seconds_(kPriorUp * seconds) {
  for (const double requests : per_day) {
    TaskCounts counts;
    counts.expected.assign(kSlots, requests / static_cast<double>(kSlots));
    counts.seen.assign(kSlots, 0);
    counts.rate = requests / seconds;
    tasks_.push_back(std::move(counts));
  }
}

size_t Forecast::slot_at(double now) const {
  const double slot = now / seconds_ * static_cast<double>(kSlots);
  return std::min(kSlots - 1, static_cast<size_t>(std::max(0.0, slot)));
}

double Forecast::expected_until(const TaskCounts& task, double now) const {
  const size_t slot = slot_at(now);
  double sum = 0;
  for (size_t i = 0; i < slot; ++i) sum += task.expected[i];
  const double part = now / seconds_ * static_cast<double>(kSlots) - static_cast<double>(slot);
  return sum + std::clamp(part, 0.0, 1.0) * task.expected[slot];
}

void Forecast::note_request(size_t task, double now) {
  TaskCounts& counts = tasks_[task];
  counts.seen[slot_at(now)] += 1;
  counts.seen_today += 1;
  counts.rate = rate(task, now) + 1 / (kRateWindow * seconds_);
  counts.rate_at = now;
}

double Forecast::rate(size_t task, double now) const {
  const TaskCounts& counts = tasks_[task];
  return counts.rate * std::exp(-(now - counts.rate_at) / (kRateWindow * seconds_));
}

void Forecast::note_link(bool up, double now) {
  const double passed = std::max(0.0, now - link_at_);
  all_seconds_ += passed;
  if (up) up_seconds_ += passed;
  link_at_ = std::max(link_at_, now);
}

double Forecast::left(size_t task, double now) const {
  const TaskCounts& counts = tasks_[task];
  double day = 0;
  for (const double slot : counts.expected) day += slot;
  if (day <= 0) {  // nothing is known but today
    return now > 0 ? counts.seen_today / now * std::max(0.0, seconds_ - now) : 0;
  }
  const double until = expected_until(counts, now);
  const double level = (counts.seen_today + kPriorRequests) / (until + kPriorRequests);
  return level * std::max(0.0, day - until);
}

double Forecast::up_share() const { return up_seconds_ / all_seconds_; }

void Forecast::end_day() {
  days_ = std::min(days_ + 1, kMostDays);
  for (TaskCounts& counts : tasks_) {
    for (size_t i = 0; i < kSlots; ++i) {
      counts.expected[i] += (counts.seen[i] - counts.expected[i]) / days_;
      counts.seen[i] = 0;
    }
    counts.seen_today = 0;
    counts.rate_at = 0;
  }
  link_at_ = 0;
}

}  // namespace shoal::schedule
