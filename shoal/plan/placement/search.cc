#include "shoal/plan/placement/search.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace shoal::placement {
namespace {

// Rounded, so that sums in another order compare alike.
double rounded(double value) { return std::round(value * 1e6); }

bool are_alike(const Camera& a, const Camera& b) {
  const auto fields = [](const Camera& one) {
    return std::tie(one.origin, one.listener, one.rate, one.activity, one.latest_seconds,
                    one.seconds, one.bytes);
  };
  return fields(a) == fields(b);
}

bool are_alike(const Problem& problem, size_t a, size_t b) {
  const auto fields = [&](size_t m) {
    const Machine& one = problem.machines[m];
    return std::tie(one.link, one.cores, one.watts, one.joules_per_byte, one.present);
  };
  if (fields(a) != fields(b)) return false;
  const auto is_end = [](const Camera& camera, size_t m) {
    return camera.origin == static_cast<int>(m) || camera.listener == static_cast<int>(m);
  };
  return std::ranges::all_of(problem.cameras, [&](const Camera& camera) {
    return !is_end(camera, a) && !is_end(camera, b) &&
           std::ranges::all_of(camera.seconds,
                               [&](const auto& seconds) { return seconds[a] == seconds[b]; });
  });
}

std::vector<int> first_alike(const Problem& problem) {
  std::vector<int> first;
  for (size_t m = 0; m < problem.machines.size(); ++m) {
    size_t like = 0;
    while (like < m && !are_alike(problem, like, m)) ++like;
    first.push_back(static_cast<int>(like));
  }
  return first;
}

double least_work(const std::vector<Option>& options) {
  double least = kCannot;
  for (const Option& option : options) {
    double most = 0;
    for (const Use& use : option.uses) most = std::max(most, use.load);
    least = std::min(least, most);
  }
  return least;
}

}  // namespace

bool is_better(const Score& a, const Score& b, Objective objective) {
  const auto key = [&](const Score& one) {
    const double latency = rounded(one.latency_seconds), watts = rounded(one.watts);
    const bool soon = objective == Objective::kLatency;
    return std::tuple(rounded(one.shortfall), rounded(one.slowdown), one.late,
                      soon ? latency : watts, soon ? watts : latency);
  };
  return key(a) < key(b);
}

Search::Search(const Resources& resources, const Problem& problem,
               const std::vector<std::vector<Option>>& options, size_t most_evaluations)
    : problem_(problem),
      options_(options),
      most_evaluations_(most_evaluations),
      alike_(first_alike(problem)),
      chosen_(resources, problem) {}

Found Search::run(const std::vector<const Option*>& fixed) {
  order_.clear();
  evaluations_ = 0;
  uses_.assign(problem_.machines.size(), 0);
  for (size_t i = 0; i < fixed.size(); ++i) {
    chosen_.set(i, fixed[i]);
    if (fixed[i] == nullptr) {
      order_.push_back(i);
    } else {
      count_uses(*fixed[i], 1);
    }
  }
  std::ranges::stable_sort(order_, std::ranges::greater(),
                           [&](size_t i) { return least_work(options_[i]); });
  least_.assign(order_.size() + 1, {});
  for (size_t k = order_.size(); k-- > 0;) {
    const auto& options = options_[order_[k]];
    least_[k] = least_[k + 1];
    least_[k].slowdown += options.front().places != kUnplaced ? 1 : 0;
    least_[k].latency_seconds += std::ranges::min(options, {}, &Option::seconds).seconds;
    least_[k].watts += std::ranges::min(options, {}, &Option::watts).watts;
  }
  place_greedily();
  best_ = {};
  for (size_t i = 0; i < fixed.size(); ++i) best_.options.push_back(chosen_.of(i));
  best_.score = chosen_.score();
  while (evaluations_ < most_evaluations_ / 2 && (move_one() || swap_two())) {
  }
  for (size_t camera : order_) chosen_.set(camera, nullptr);
  branch(0);
  return best_;
}

Score Search::try_option(size_t camera, const Option* option) {
  ++evaluations_;
  chosen_.set(camera, option);
  return chosen_.score();
}

void Search::place_greedily() {
  for (size_t camera : order_) {
    const Option* best = nullptr;
    Score score;
    for (const Option& option : options_[camera]) {
      const Score next = try_option(camera, &option);
      if (best != nullptr && !is_better(next, score, problem_.objective)) continue;
      best = &option;
      score = next;
    }
    chosen_.set(camera, best);
  }
}

// REQUIRES: all cameras have an option.
void Search::keep_if_better() {
  const Score score = chosen_.score();
  if (!is_better(score, best_.score, problem_.objective)) return;
  best_.score = score;
  for (size_t i = 0; i < best_.options.size(); ++i) best_.options[i] = chosen_.of(i);
}

bool Search::move_one() {
  const Score before = best_.score;
  for (size_t camera : order_) {
    for (const Option& option : options_[camera]) {
      if (is_better(try_option(camera, &option), best_.score, problem_.objective)) keep_if_better();
    }
    chosen_.set(camera, best_.options[camera]);
  }
  return is_better(best_.score, before, problem_.objective);
}

// The camera's option with the machine of its network replaced by that of another camera's.
const Option* Search::with_network_of(size_t camera, size_t other) const {
  const int own = place_of(best_.options[camera]->places, Stage::kNetwork);
  Places wanted = best_.options[camera]->places;
  std::ranges::replace(wanted, own, place_of(best_.options[other]->places, Stage::kNetwork));
  const auto it = std::ranges::find(options_[camera], wanted, &Option::places);
  return it != options_[camera].end() ? &*it : nullptr;
}

bool Search::swap_two() {
  for (size_t k = 0; k < order_.size() && evaluations_ < most_evaluations_; ++k) {
    for (size_t l = 0; l < k; ++l) {
      const size_t a = order_[k], b = order_[l];
      const Option *of_a = with_network_of(a, b), *of_b = with_network_of(b, a);
      if (of_a == nullptr || of_b == nullptr || of_a == best_.options[a]) continue;
      chosen_.set(a, of_a);
      if (is_better(try_option(b, of_b), best_.score, problem_.objective)) {
        keep_if_better();
        return true;
      }
      chosen_.set(a, best_.options[a]);
      chosen_.set(b, best_.options[b]);
    }
  }
  return false;
}

void Search::count_uses(const Option& option, int by) {
  for (int machine : option.places) {
    if (machine != kNowhere) uses_[static_cast<size_t>(machine)] += by;
  }
}

// Whether an idle machine of it could be an earlier one that is like it, idle, and not in it.
bool Search::is_repeated(const Option& option) const {
  return std::ranges::any_of(option.places, [&](int machine) {
    if (machine == kNowhere || uses_[static_cast<size_t>(machine)] > 0) return false;
    const int like = alike_[static_cast<size_t>(machine)];
    for (int earlier = like; earlier < machine; ++earlier) {
      const auto e = static_cast<size_t>(earlier);
      const bool is_in = std::ranges::find(option.places, earlier) != option.places.end();
      if (alike_[e] == like && uses_[e] == 0 && !is_in) return true;
    }
    return false;
  });
}

size_t Search::first_option(size_t depth) const {
  const size_t camera = order_[depth];
  for (size_t k = depth; k-- > 0;) {
    const size_t before = order_[k];
    if (!are_alike(problem_.cameras[camera], problem_.cameras[before])) continue;
    return static_cast<size_t>(chosen_.of(before) - options_[before].data());
  }
  return 0;
}

Score Search::bound(size_t depth) const {
  Score score = chosen_.score();
  score.slowdown += least_[depth].slowdown;
  score.latency_seconds += least_[depth].latency_seconds;
  score.watts += least_[depth].watts;
  return score;
}

void Search::branch(size_t depth) {
  if (depth == order_.size()) {
    keep_if_better();
    return;
  }
  const size_t camera = order_[depth];
  const std::vector<Option>& options = options_[camera];
  struct Next {
    const Option* option;
    Score bound;
  };
  std::vector<Next> next;
  for (size_t i = first_option(depth); i < options.size(); ++i) {
    if (is_repeated(options[i])) continue;
    try_option(camera, &options[i]);
    next.push_back({&options[i], bound(depth + 1)});
  }
  std::ranges::stable_sort(next, [&](const Next& a, const Next& b) {
    return is_better(a.bound, b.bound, problem_.objective);
  });
  for (const Next& one : next) {
    if (!is_better(one.bound, best_.score, problem_.objective)) break;
    if (evaluations_ >= most_evaluations_) {
      best_.optimal = false;
      break;
    }
    chosen_.set(camera, one.option);
    count_uses(*one.option, 1);
    branch(depth + 1);
    count_uses(*one.option, -1);
  }
  chosen_.set(camera, nullptr);
}

}  // namespace shoal::placement
