// Dilation: the real seconds that pass for each second of the emulated world.
//
// An emulated device computes, and then sleeps until the real one would be done. If its process is
// scheduled too late, the task takes longer than on the device: it is late, and the figures are
// less accurate. This machine's scheduler adds microseconds to milliseconds however long the task
// is, so in slow motion it weighs less: k times the dilation gives about 1/k of the lateness.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>

#include "shoal/base/status.h"
#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/profile.h"

namespace shoal::emulate {

// The dilation with which a machine of this many cores can emulate all these devices at once, and
// with which its own network and scheduler are small beside the emulated latencies.
double choose_dilation(const plan::ClusterProfile& cluster, unsigned cores);

// How much longer than predicted the latest worker computed, as a share of the request. REQUIRES:
// both timelines are of this plan, and in emulated time.
double lateness_of(const plan::Plan& plan, const plan::Timeline& predicted,
                   const plan::Timeline& measured);

// Figures that are late by at most this are good enough.
inline constexpr double kGoodLateness = 0.05;

// Decides after a measurement whether to accept it or to measure again in slower motion. The caller
// measures. Not thread-safe.
class DilationSearch {
 public:
  // The most that next() returns, as a multiple of the initial dilation.
  static constexpr double kMaxRaise = 32;

  // `initial`: the dilation of the first measurement; each takes `seconds` of emulated time.
  DilationSearch(double initial, double seconds) : initial_(initial), seconds_(seconds) {}

  // Takes the lateness of the latest measurement. Returns the dilation with which to measure again;
  // nullopt if the figures are good, or if better ones would take too long.
  std::optional<double> next(double lateness);

 private:
  const double initial_, seconds_;
  double current_ = initial_;
  int measurements_ = 0;
};

// Measures, and again in slower motion as DilationSearch decides, which takes the same arguments.
// `measure(dilation)` returns a Result of figures with a member `lateness`. Returns the figures
// that are the least late; fails as soon as a measurement does.
template <class Measure>
auto measure_least_late(double initial, double seconds, const Measure& measure)
    -> decltype(measure(initial)) {
  auto best = measure(initial);
  if (!best.ok()) return best;
  DilationSearch search(initial, seconds);
  double lateness = best->lateness;
  while (const std::optional<double> slower = search.next(lateness)) {
    auto again = measure(*slower);
    if (!again.ok()) return again;
    lateness = again->lateness;
    if (lateness < best->lateness) best = std::move(again);
  }
  return best;
}

// The present dilation of all processes of an emulated cluster. They share it through a file, so
// that the measuring process can change it between two requests. Thread-safe.
class SharedDilation {
 public:
  // `media` as in links.h. All processes give the same initial value.
  static Result<std::shared_ptr<SharedDilation>> open(const std::filesystem::path& media,
                                                      double initial);

  double get() const;
  void set(double dilation) { *changed_ = dilation; }
  void reset() { *changed_ = 0; }  // to the initial value

 private:
  using Word = std::atomic<double>;
  static_assert(Word::is_always_lock_free);

  SharedDilation(std::shared_ptr<Word> changed, double initial)
      : changed_(std::move(changed)), initial_(initial) {}

  const std::shared_ptr<Word> changed_;  // 0: it has not been
  const double initial_;
};

}  // namespace shoal::emulate
