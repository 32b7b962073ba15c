// Virtual time: an event queue. Events at the same time run in the order in which they were added,
// so that a history follows from its seed alone. Single-threaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "shoal/base/math/draws.h"

namespace shoal::chaos {

using Time = std::chrono::nanoseconds;  // since the beginning

class Clock {
 public:
  Time now() const { return now_; }

  void after(Time delay, std::function<void()> what) {
    events_.emplace(std::pair(now_ + delay, count_++), std::move(what));
  }

  // Runs the next event; false if there is none.
  bool step() {
    if (events_.empty()) return false;
    auto first = events_.extract(events_.begin());
    now_ = first.key().first;
    first.mapped()();
    return true;
  }

 private:
  Time now_{0};
  uint64_t count_ = 0;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
};

class Random : public Draws {
 public:
  using Draws::between;
  using Draws::Draws;
  Time between(Time low, Time high) { return Time(between(low.count(), high.count())); }
};

// A running hash of all events: two histories are equal if their hashes are.
class Journal {
 public:
  void note(Time when, std::string_view what, int64_t a = 0, int64_t b = 0) {
    for (char c : what) mix(static_cast<uint8_t>(c));
    for (int64_t number : {when.count(), a, b}) mix(static_cast<uint64_t>(number));
  }
  uint64_t hash() const { return hash_; }

 private:
  void mix(uint64_t word) { hash_ = RandomStream(hash_, word)[0]; }
  uint64_t hash_ = 0;
};

}  // namespace shoal::chaos
