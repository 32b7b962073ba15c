#include "shoal/base/timing/contest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "shoal/base/status.h"

namespace shoal {
namespace {

// Times within this factor are equal: caches and clocks vary by as much from run to run.
constexpr double kSame = 1.05;
// A favourite that is no more than this much slower wins. Of two equal kernels, every contest then
// chooses the same.
constexpr double kHardly = 1.02;
// A contender that was this much slower three times has lost.
constexpr double kHopeless = 1.6;
// On a busy machine a least time may not recur in a reasonable time.
constexpr int kMostRuns = 16;
constexpr int kFewRuns = 2;
constexpr double kLong = 100e3;  // microseconds after which few runs have to do

}  // namespace

bool Contest::Times::is_believed() const { return least.back() <= kSame * least.front(); }

Contest::Contest(size_t contenders, Order order) : order_(order), times_(contenders) {
  SHOAL_CHECK(contenders > 0);
  for (Times& times : times_) times.least.fill(std::numeric_limits<double>::infinity());
}

double Contest::best() const {
  double best = std::numeric_limits<double>::infinity();
  for (const Times& times : times_) best = std::min(best, times.least.front());
  return best;
}

// Whether another run could change anything.
bool Contest::is_open(const Times& times) const {
  if (times.count < kFewRuns) return true;
  if (times.count >= kMostRuns || spent_ > kLong) return false;
  if (times.count < static_cast<int>(times.least.size())) return true;
  return !times.is_believed() && times.least.front() <= kHopeless * best();
}

std::optional<size_t> Contest::next() const {
  std::optional<size_t> found;
  for (size_t i = 0; i < times_.size(); ++i) {
    if (!is_open(times_[i])) continue;
    if (order_ == Order::kOneByOne) return i;
    if (!found || times_[i].count < times_[*found].count) found = i;
  }
  return found;
}

void Contest::add(size_t contender, double microseconds) {
  Times& times = times_[contender];
  ++times.count;
  spent_ += microseconds;
  for (double& least : times.least) {
    if (microseconds < least) std::swap(microseconds, least);
  }
}

size_t Contest::winner() const {
  const auto fastest =
      std::ranges::min_element(times_, {}, [](const Times& times) { return times.least.front(); });
  return least(0) <= kHardly * fastest->least.front()
             ? 0
             : static_cast<size_t>(fastest - times_.begin());
}

std::optional<size_t> Contest::runner_up() const {
  const size_t first = winner();
  std::optional<size_t> found;
  for (size_t i = 0; i < times_.size(); ++i) {
    if (i != first && (!found || least(i) < least(*found))) found = i;
  }
  return found;
}

bool Contest::is_believed() const {
  return std::ranges::all_of(times_, [&](const Times& times) {
    return times.is_believed() || times.least.front() > kHopeless * best();
  });
}

}  // namespace shoal
