// Placing lifetimes in an arena is packing rectangles whose x is given (time) and whose y is to be
// found (the offset). That is NP-hard, but on real networks simple orders come close to the lower
// bound, the largest live set. The search, which ends as soon as a layout is within 0.5 % of it:
//
//   1. first come, first served, with the best-fitting free stretch: O(n log n)
//   2. three fixed orders (bytes, bytes * steps, steps), each into the smallest gap: O(conflicts)
//   3. local search from the best order: the lifetime at the top is placed first next time
//
// Steps 2 and 3 have a budget of visits, so that no graph, however wide, takes long.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>

#include "shoal/base/round_up.h"
#include "shoal/engine/device/memory_plan.h"

namespace shoal {
namespace {

using Order = std::vector<uint32_t>;

// Pairs alive at once that are worth keeping (32 MB), and worth visiting in all attempts together.
// Real networks have some ten per value; only then is the choice of an order worth its time.
constexpr size_t kMaxPairs = size_t{4} << 20;
constexpr size_t kMaxVisits = size_t{8} << 20;
constexpr int kMaxAttempts = 64;
constexpr double kGoodEnough = 1.005;

// Sizes as multiples of the alignment: then every offset, a sum of sizes, is one as well.
std::vector<Lifetime> rounded(std::span<const Lifetime> lifetimes, int64_t alignment) {
  std::vector<Lifetime> all(lifetimes.begin(), lifetimes.end());
  for (Lifetime& l : all) l.bytes = round_up(l.bytes, alignment);
  return all;
}

Order in_time(std::span<const Lifetime> lifetimes) {
  Order order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, [&](uint32_t a, uint32_t b) { return lifetimes[a].first < lifetimes[b].first; });
  return order;
}

// Unused stretches of the arena, found by offset (to merge neighbours) and by size (to fit).
class FreeList {
 public:
  // The smallest stretch that holds `bytes`; the arena grows if there is none.
  int64_t take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin() && (--before)->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove(before->first, before->second);
    }
    add(offset, bytes);
  }

  int64_t end() const { return end_; }

 private:
  // A free stretch at the end of the arena is extended, not left behind.
  int64_t grow(int64_t bytes) {
    int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void add(int64_t offset, int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

// The layout of an online allocator: O(n log n), always succeeds.
MemoryLayout place_in_time(std::span<const Lifetime> lifetimes) {
  MemoryLayout layout{std::vector<int64_t>(lifetimes.size(), 0), 0};
  using Event = std::pair<int64_t, uint32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> ends;
  FreeList free;
  for (uint32_t i : in_time(lifetimes)) {
    while (!ends.empty() && ends.top().first < lifetimes[i].first) {
      const uint32_t dead = ends.top().second;
      free.give(layout.offsets[dead], lifetimes[dead].bytes);
      ends.pop();
    }
    if (lifetimes[i].bytes == 0) continue;
    layout.offsets[i] = free.take(lifetimes[i].bytes);
    ends.emplace(lifetimes[i].last, i);
  }
  layout.bytes = free.end();
  return layout;
}

// For each lifetime the others that share a step with it, one list after the other.
struct Conflicts {
  std::vector<size_t> begin;  // n + 1
  std::vector<uint32_t> others;

  std::span<const uint32_t> of(uint32_t i) const {
    return std::span(others).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// Calls f(a, b) for every pair that shares a step, until it returns false.
template <class F>
bool for_each_pair(std::span<const Lifetime> lifetimes, const Order& order, F f) {
  std::vector<uint32_t> alive;
  for (uint32_t i : order) {
    if (lifetimes[i].bytes == 0) continue;
    std::erase_if(alive, [&](uint32_t j) { return lifetimes[j].last < lifetimes[i].first; });
    for (uint32_t j : alive) {
      if (!f(i, j)) return false;
    }
    alive.push_back(i);
  }
  return true;
}

// nullopt if there are more than kMaxPairs. Two passes, count and fill, make one array of all
// lists.
std::optional<Conflicts> find_conflicts(std::span<const Lifetime> lifetimes) {
  const Order order = in_time(lifetimes);
  Conflicts conflicts;
  conflicts.begin.assign(lifetimes.size() + 1, 0);
  size_t pairs = 0;
  const bool all = for_each_pair(lifetimes, order, [&](uint32_t a, uint32_t b) {
    ++conflicts.begin[a + 1];
    ++conflicts.begin[b + 1];
    return ++pairs <= kMaxPairs;
  });
  if (!all) return std::nullopt;
  std::partial_sum(conflicts.begin.begin(), conflicts.begin.end(), conflicts.begin.begin());
  conflicts.others.resize(2 * pairs);
  std::vector<size_t> next(conflicts.begin.begin(), conflicts.begin.end() - 1);
  for_each_pair(lifetimes, order, [&](uint32_t a, uint32_t b) {
    conflicts.others[next[a]++] = b;
    conflicts.others[next[b]++] = a;
    return true;
  });
  return conflicts;
}

// One after the other in the given order, each into the smallest gap between those placed.
MemoryLayout place_in_order(std::span<const Lifetime> lifetimes, const Conflicts& conflicts,
                            const Order& order) {
  constexpr int64_t kUnplaced = -1;
  MemoryLayout layout{std::vector<int64_t>(lifetimes.size(), kUnplaced), 0};
  std::vector<std::pair<int64_t, int64_t>> taken;  // [offset, end)
  for (uint32_t i : order) {
    const int64_t bytes = lifetimes[i].bytes;
    taken.clear();
    for (uint32_t j : conflicts.of(i)) {
      const int64_t at = layout.offsets[j];
      if (at != kUnplaced) taken.emplace_back(at, at + lifetimes[j].bytes);
    }
    std::ranges::sort(taken);
    int64_t best = kUnplaced, best_gap = 0, end = 0;
    for (const auto& [from, to] : taken) {
      const int64_t gap = from - end;
      if (gap >= bytes && (best == kUnplaced || gap < best_gap)) best = end, best_gap = gap;
      end = std::max(end, to);
    }
    layout.offsets[i] = best == kUnplaced ? end : best;
    layout.bytes = std::max(layout.bytes, layout.offsets[i] + bytes);
  }
  return layout;
}

// Sorted so that the largest key comes first; in time where keys are equal.
template <class Key>
Order largest_first(std::span<const Lifetime> lifetimes, Key key) {
  Order order = in_time(lifetimes);
  std::ranges::stable_sort(
      order, [&](uint32_t a, uint32_t b) { return key(lifetimes[a]) > key(lifetimes[b]); });
  return order;
}

std::vector<Order> promising_orders(std::span<const Lifetime> lifetimes) {
  auto steps = [](const Lifetime& l) { return l.last - l.first + 1; };
  return {
      largest_first(lifetimes, [](const Lifetime& l) { return l.bytes; }),
      largest_first(lifetimes,
                    [&](const Lifetime& l) {
                      return static_cast<double>(l.bytes) * static_cast<double>(steps(l));
                    }),
      largest_first(lifetimes, [&](const Lifetime& l) { return std::pair(steps(l), l.bytes); })};
}

// Moves the lifetime that ends at the top to the front, where it gets a low place next time.
void move_highest_to_front(std::span<const Lifetime> lifetimes, const MemoryLayout& layout,
                           Order& order) {
  const auto highest = std::ranges::find_if(
      order, [&](uint32_t i) { return layout.offsets[i] + lifetimes[i].bytes == layout.bytes; });
  std::rotate(order.begin(), highest, highest + 1);
}

}  // namespace

int64_t largest_live_set(std::span<const Lifetime> lifetimes) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // step, bytes more from then on
  changes.reserve(2 * lifetimes.size());
  for (const Lifetime& l : lifetimes) {
    changes.emplace_back(l.first, l.bytes);
    changes.emplace_back(l.last + 1, -l.bytes);
  }
  std::ranges::sort(changes);  // of one step, what ends comes before what begins
  int64_t live = 0, most = 0;
  for (const auto& [step, bytes] : changes) most = std::max(most, live += bytes);
  return most;
}

MemoryLayout lay_out(std::span<const Lifetime> exact, int64_t alignment) {
  const std::vector<Lifetime> lifetimes = rounded(exact, alignment);
  MemoryLayout best = place_in_time(lifetimes);
  const auto enough =
      static_cast<int64_t>(static_cast<double>(largest_live_set(lifetimes)) * kGoodEnough);
  if (best.bytes <= enough) return best;
  const std::optional<Conflicts> conflicts = find_conflicts(lifetimes);
  if (!conflicts) return best;

  size_t visits = 0;
  Order best_order;
  int64_t best_of_orders = std::numeric_limits<int64_t>::max();
  auto attempt = [&](const Order& order) {
    MemoryLayout layout = place_in_order(lifetimes, *conflicts, order);
    visits += conflicts->others.size() + lifetimes.size();
    if (layout.bytes < best_of_orders) best_of_orders = layout.bytes, best_order = order;
    if (layout.bytes < best.bytes) best = layout;
    return layout;
  };
  for (const Order& order : promising_orders(lifetimes)) {
    attempt(order);
    if (best.bytes <= enough || visits > kMaxVisits) return best;
  }
  Order order = best_order;
  MemoryLayout layout = attempt(order);
  for (int i = 0; i < kMaxAttempts && best.bytes > enough && visits < kMaxVisits; ++i) {
    move_highest_to_front(lifetimes, layout, order);
    layout = attempt(order);
  }
  return best;
}

}  // namespace shoal
