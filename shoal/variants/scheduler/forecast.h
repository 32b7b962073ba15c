// Forecast: the number of requests of each task in the rest of the day. Starts from given
// expectations, learns the shape of the day from past days, and follows today's level. A value; no
// I/O.
#pragma once

#include <cstddef>
#include <vector>

namespace shoal::schedule {

class Forecast {
 public:
  // Tasks and the requests that a day of `seconds` is expected to bring for each.
  Forecast(std::vector<double> per_day, double seconds);

  // A request of a task, or the state of the link. Times are seconds since the day began, and
  // ascend.
  void note_request(size_t task, double now);
  void note_link(bool up, double now);

  // Requests still to come; the share of time in which the link is up; current requests a second.
  double left(size_t task, double now) const;
  double up_share() const;
  double rate(size_t task, double now) const;

  // Ends the day: observations become expectations.
  void end_day();

 private:
  static constexpr size_t kSlots = 24;  // of a day
  struct TaskCounts {
    std::vector<double> expected, seen;  // [kSlots]
    double seen_today = 0;
    double rate = 0, rate_at = 0;  // requests a second, which fades
  };

  size_t slot_at(double now) const;
  // Expected requests from the beginning of the day on.
  double expected_until(const TaskCounts& task, double now) const;

  double seconds_;
  std::vector<TaskCounts> tasks_;
  double days_ = 0;
  double up_seconds_, all_seconds_, link_at_ = 0;
};

}  // namespace shoal::schedule
