#include "shoal/variants/scheduler/simulation/day.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/math/random.h"

namespace shoal::schedule {
namespace {

constexpr double kHour = 3600;
constexpr double kMostRate = 1e7;  // inputs an hour
constexpr size_t kMostParts = 10'000;

// Draws one number after another.
class Draws {
 public:
  explicit Draws(RandomStream stream) : stream_(stream) {}

  double uniform() {  // above 0, at most 1
    return (static_cast<double>(stream_[next_++] >> 11) + 1) * 0x1p-53;
  }
  double exponential(double mean) { return -mean * std::log(uniform()); }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

// When the link changes, beginning with its first outage.
std::vector<double> link_changes(const Usage& usage, double seconds, Draws draws) {
  std::vector<double> changes;
  if (usage.down <= 0) return changes;
  const double up_seconds = usage.down_seconds * (1 - usage.down) / usage.down;
  double at = 0;
  bool up = draws.uniform() > usage.down;
  if (!up) changes.push_back(0);
  while (at < seconds) {
    at += draws.exponential(up ? up_seconds : usage.down_seconds);
    changes.push_back(at);
    up = !up;
  }
  return changes;
}

bool is_up(const std::vector<double>& changes, double at) {
  return (std::ranges::upper_bound(changes, at) - changes.begin()) % 2 == 0;
}

}  // namespace

Status check(const Usage& usage, size_t tasks) {
  if (!(usage.down >= 0 && usage.down <= 0.99) ||
      !(usage.down_seconds >= 1 && usage.down_seconds <= 1e9)) {
    return invalid("outages take a share of the time from 0 to 0.99, and a second or more each");
  }
  for (const Stream& stream : usage.streams) {
    if (stream.tasks.empty() || stream.per_hour.empty() || stream.per_hour.size() > kMostParts) {
      return invalid("a stream has no task, no rate or too many rates");
    }
    if (!(stream.spread >= 0 && stream.spread <= 1)) return invalid("a spread is not from 0 to 1");
    for (const size_t task : stream.tasks) {
      if (task >= tasks) return invalid("a stream is for a task that does not exist");
    }
    for (const double rate : stream.per_hour) {
      if (!(rate >= 0 && rate <= kMostRate)) return invalid("a rate is negative or too high");
    }
  }
  return {};
}

std::vector<Request> draw_day(const Usage& usage, double seconds, uint64_t seed, uint64_t day) {
  const RandomStream all = RandomStream(seed, day);
  const std::vector<double> changes = link_changes(usage, seconds, Draws(all.child(0)));
  std::vector<Request> requests;
  for (size_t s = 0; s < usage.streams.size(); ++s) {
    const Stream& stream = usage.streams[s];
    Draws draws(all.child(s + 1));
    const double part = seconds / static_cast<double>(stream.per_hour.size());
    for (size_t p = 0; p < stream.per_hour.size(); ++p) {
      const double level = 1 + stream.spread * (2 * draws.uniform() - 1);
      const double rate = level * stream.per_hour[p] / kHour;
      if (rate <= 0) continue;
      const double begin = static_cast<double>(p) * part;
      for (double at = begin; (at += draws.exponential(1 / rate)) < begin + part;) {
        const uint64_t input = (uint64_t{s} << 40) + requests.size();
        for (const size_t task : stream.tasks) requests.push_back({at, task, input, true});
      }
    }
  }
  std::ranges::stable_sort(requests, {}, &Request::at);
  for (Request& request : requests) request.cloud_up = is_up(changes, request.at);
  return requests;
}

std::vector<double> requests_per_day(const Usage& usage, size_t tasks, double seconds) {
  std::vector<double> requests(tasks, 0);
  for (const Stream& stream : usage.streams) {
    const double part = seconds / static_cast<double>(stream.per_hour.size()) / kHour;
    double sum = 0;
    for (const double rate : stream.per_hour) sum += rate * part;
    for (const size_t task : stream.tasks) requests[task] += sum;
  }
  return requests;
}

}  // namespace shoal::schedule
