// Forecast: how many requests of each task the rest of the day will bring. It begins with what is
// expected beforehand, learns the shape of the day from days that have passed, and follows today's
// level. A value; no I/O.
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

  // Requests that are still to come; a share of the time in which the link is up; requests a second
  // at present.
  double left(size_t task, double now) const;
  double up_share() const;
  double rate(size_t task, double now) const;

  // The day is over: what was seen becomes what is expected.
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
