#include "shoal/shrink/prune/latency/choose_by_time.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

namespace shoal::shrink {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Less is the error of a sum, not a saving.
constexpr double kLeastShare = 1e-6;

struct Move {
  size_t group = 0, width = 0;
  double saved = 0;  // milliseconds
};

class Choice {
 public:
  Choice(const compress::Groups& groups, std::span<const double> worth, const LatencyTable& table,
         std::span<const size_t> gone)
      : table_(table),
        kept_(kept_without(groups, gone)),
        most_(kept_),
        gone_(gone.begin(), gone.end()) {
    std::vector<bool> is_gone(groups.units.size());
    for (size_t unit : gone) is_gone[unit] = true;
    for (size_t g = 0; g < groups.groups.size(); ++g) {
      const compress::Group& group = groups.groups[g];
      std::vector<size_t>& units = units_.emplace_back();
      for (size_t unit = group.begin; unit < group.end; ++unit) {
        if (!is_gone[unit]) units.push_back(unit);
      }
      std::ranges::stable_sort(units, std::ranges::greater(), [&](size_t u) { return worth[u]; });
      // What a unit is worth rises as fewer are left, so that no layer is emptied because each of
      // its units is worth little.
      std::vector<double>& up_to = worth_up_to_.emplace_back(1, 0.0);
      for (size_t i = 0; i < units.size(); ++i) {
        up_to.push_back(up_to.back() + worth[units[i]] * static_cast<double>(group.size()) /
                                           static_cast<double>(i + 1));
      }
      steps_.push_back(table.steps_of(g));
    }
    ms_ = table.ms(kept_);
  }

  double ms() const { return ms_; }

  bool give_up(double most_ms, Order order) {
    std::optional<Move> best;
    double least = kInfinity;
    for (size_t g = 0; g < kept_.size(); ++g) {
      for (size_t width = kept_[g]; width-- > 1;) {
        const Move move = moved(g, width);
        if (order == Order::kPerMillisecond && move.saved <= kLeastShare * ms_) continue;
        // More than is needed is no merit.
        const double saved = order == Order::kWorth ? 1 : std::min(move.saved, ms_ - most_ms);
        const double cost = lost(g, width) / saved;
        if (cost >= least && best) continue;
        least = cost;
        best = move;
        if (order == Order::kWorth) break;  // one by one
      }
    }
    if (best) make(*best);
    return best.has_value();
  }

  bool take_back(double most_ms) {
    std::optional<Move> best;
    double most = -1;
    for (size_t g = 0; g < kept_.size(); ++g) {
      for (size_t width = kept_[g] + 1; width <= most_[g]; ++width) {
        const Move move = moved(g, width);
        if (ms_ - move.saved > most_ms) continue;
        const double gained = worth_up_to_[g][width] - worth_up_to_[g][kept_[g]];
        const double merit = move.saved >= 0 ? kInfinity : gained / -move.saved;
        if (merit < most || (merit == most && best && best->group != g)) continue;
        most = merit;
        best = move;
      }
    }
    if (best) make(*best);
    return best.has_value();
  }

  std::vector<size_t> units() const {
    std::vector<size_t> all = gone_;
    for (size_t g = 0; g < kept_.size(); ++g) {
      all.insert(all.end(), units_[g].begin() + static_cast<ptrdiff_t>(kept_[g]), units_[g].end());
    }
    return all;
  }

 private:
  double lost(size_t group, size_t width) const {
    return worth_up_to_[group][kept_[group]] - worth_up_to_[group][width];
  }

  Move moved(size_t group, size_t width) {
    const size_t now = kept_[group];
    const double before = table_.ms(kept_, steps_[group]);
    kept_[group] = width;
    const double after = table_.ms(kept_, steps_[group]);
    kept_[group] = now;
    return {group, width, before - after};
  }

  void make(const Move& move) {
    kept_[move.group] = move.width;
    ms_ = table_.ms(kept_);
  }

  const LatencyTable& table_;
  Kept kept_;
  const Kept most_;  // what there was at first
  std::vector<size_t> gone_;
  std::vector<std::vector<size_t>> units_;        // by group: what there was, the best first
  std::vector<std::vector<double>> worth_up_to_;  // by group: of the best n units
  std::vector<std::vector<size_t>> steps_;        // by group: whose time it changes
  double ms_ = 0;
};

}  // namespace

Result<std::vector<size_t>> choose_by_time(const compress::Groups& groups,
                                           std::span<const double> worth, const LatencyTable& table,
                                           double most_ms, std::span<const size_t> gone,
                                           Order order) {
  Choice choice(groups, worth, table, gone);
  while (choice.ms() > most_ms) {
    if (choice.give_up(most_ms, order)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "it takes at least %.4g ms, not %.4g", choice.ms(), most_ms);
    return Status(Code::kUnsupported, text);
  }
  while (choice.take_back(most_ms)) {
  }
  return choice.units();
}

Result<std::vector<size_t>> choose_by_exact_time(const compress::Groups& groups,
                                                 std::span<const double> worth, LatencyTable& table,
                                                 double most_ms, std::span<const size_t> gone,
                                                 Order order) {
  constexpr int kTries = 16;
  constexpr double kNear = 0.98, kAim = 0.99;  // of the time that is wanted
  SHOAL_ASSIGN(std::vector<size_t> units,
               choose_by_time(groups, worth, table, most_ms, gone, order));
  std::vector<size_t> best;
  double best_ms = 0;  // the slowest that is fast enough
  for (int i = 0; table.exact_ms && i < kTries; ++i) {
    SHOAL_ASSIGN(const double ms, table.exact_ms(units));
    if (ms <= most_ms && ms > best_ms) {
      best = units;
      best_ms = ms;
    }
    if (ms <= most_ms && ms >= kNear * most_ms) break;
    const double said = table.ms(kept_without(groups, units));
    if (!(ms > 0 && said > 0)) break;
    table.scale *= ms / said;
    auto again = choose_by_time(groups, worth, table, kAim * most_ms, gone, order);
    if (!again.ok()) break;
    units = *std::move(again);
  }
  return best_ms > 0 ? best : units;
}

}  // namespace shoal::shrink
