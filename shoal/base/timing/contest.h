// Contest: finds the fastest of several contenders from noisy timings. It says which contender to
// time next; the caller measures.
//
// Noise only ever adds time, so a contender's least time is the best estimate of what it takes, and
// a least time is believed once it was seen three times: two runs disturbed alike are not rare on a
// busy machine. Contenders take turns, so that a change of load affects all.
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
    kOneByOne,  // if there is no memory for several contenders at once
  };

  // Contender 0 is the favourite: it wins unless another is clearly faster. REQUIRES: contenders >
  // 0.
  explicit Contest(size_t contenders, Order order = Order::kTurns);

  // The contender to time next; nullopt if the contest is over.
  std::optional<size_t> next() const;
  void add(size_t contender, double microseconds);

  // REQUIRES, for all of these: every contender was timed.
  size_t winner() const;
  std::optional<size_t> runner_up() const;  // nullopt if there is one contender
  // Whether another contest would end the same. False if least times were not seen often enough
  // within the time limit.
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
