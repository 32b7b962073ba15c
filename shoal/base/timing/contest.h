// Contest: finds the fastest of several contenders by timings that are noisy. Timings go in, the
// contender to be timed next comes out. It has no clock.
//
// Noise only ever adds time, so a contender's least time is the best estimate of what it takes, and
// a least time is believed once it was met three times: two runs that were disturbed alike are not
// rare on a busy machine. Contenders take turns, so that a change of the machine's load meets all
// of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shoal {

// Not thread-safe.
class Contest {
 public:
  enum class Order : uint8_t {
    kTurns,
    kOneByOne,  // where there is no memory for several contenders at once
  };

  // Contender 0 is the favourite: it wins where others are hardly faster. REQUIRES: contenders > 0.
  explicit Contest(size_t contenders, Order order = Order::kTurns);

  // Who is to be timed next; nothing: the contest is over.
  std::optional<size_t> next() const;
  void add(size_t contender, double microseconds);

  // REQUIRES, for all of these: every contender was timed.
  size_t winner() const;
  std::optional<size_t> runner_up() const;  // nothing: there is one contender
  // Whether another contest would end the same. False where least times were not met often enough
  // before the contest had taken too long.
  bool is_believed() const;
  double least(size_t contender) const { return times_[contender].least[0]; }

 private:
  struct Times {
    std::array<double, 3> least;  // in ascending order
    int count = 0;

    bool is_believed() const;
  };

  bool is_open(const Times& times) const;
  double best() const;

  Order order_;
  std::vector<Times> times_;
  double spent_ = 0;  // microseconds
};

}  // namespace shoal
