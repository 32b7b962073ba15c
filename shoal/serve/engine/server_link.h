// Link: whether another server can be reached, by the outcome of requests to it. While it cannot,
// it is pinged after pauses that double. It decides without I/O.
#pragma once

#include <chrono>

#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

class Link {
 public:
  static constexpr Duration kFirstPause = std::chrono::milliseconds(500);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);

  // False before it was first reached.
  bool is_up() const { return is_up_; }
  // The outcome of a request or a ping.
  void note(bool reached, Time now) {
    if (!reached) {
      pause_ = is_up_ ? kFirstPause : std::min(2 * pause_, kLongestPause);
      next_ = now + pause_;
    }
    is_up_ = reached;
    is_asked_ = false;
  }
  // Whether to ping now; true once until note() is called.
  bool should_ask(Time now) {
    if (is_up_ || is_asked_ || now < next_) return false;
    return is_asked_ = true;
  }

 private:
  bool is_up_ = false, is_asked_ = false;
  Duration pause_ = kFirstPause / 2;
  Time next_{};
};

}  // namespace shoal::serve
