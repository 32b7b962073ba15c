#include "shoal/plan/placement/placement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/placement/options.h"

namespace shoal::placement {
namespace {

// Search: options for all cameras together.
//
// A greedy placement gives each camera, the one with most work first, the best option beside those
// before it; then cameras move, and pairs of them swap machines, while that helps. Branch and bound
// continues from there, and is exact if its budget suffices. To break symmetry, it tries only the
// first of machines that are alike and idle, and gives options to cameras that are alike in
// ascending order; the smallest of equivalent placements remains.
struct Found {
  std::vector<const Option*> options;  // by camera
  Score score = {};
  bool optimal = true;
};

// Keeps references to all but the number.
class Search {
 public:
  // `options`: of each camera, at least one.
  Search(const Resources& resources, const Problem& problem,
         const std::vector<std::vector<Option>>& options, size_t most_evaluations);

  // Cameras with an option in `fixed` keep it; the others, which have null, are placed.
  Found run(const std::vector<const Option*>& fixed);

 private:
  Score try_option(size_t camera, const Option* option);
  void place_greedily();
  bool move_one();
  bool swap_two();
  const Option* with_network_of(size_t camera, size_t other) const;
  void keep_if_better();
  void branch(size_t depth);
  bool is_repeated(const Option& option) const;
  size_t first_option(size_t depth) const;
  Score bound(size_t depth) const;
  void count_uses(const Option& option, int by);

  const Problem& problem_;
  const std::vector<std::vector<Option>>& options_;
  const size_t most_evaluations_;
  std::vector<size_t> order_;  // cameras that are placed, the one with most work first
  std::vector<int> alike_;     // for each machine, the first that is like it
  std::vector<int> uses_;      // of each machine, by chosen options
  // Of the cameras from a place in the order on: how many can be placed, and a lower bound of their
  // use.
  std::vector<Score> least_;
  Chosen chosen_;
  Found best_;
  size_t evaluations_ = 0;
};

// Rounded, so that sums in another order compare alike.
double rounded(double value) { return std::round(value * 1e6); }

bool are_alike(const Problem& problem, size_t a, size_t b) {
  const auto fields = [&](size_t m) {
    const Machine& machine = problem.machines[m];
    return std::tie(machine.link, machine.cores, machine.watts, machine.joules_per_byte,
                    machine.present);
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

bool are_alike(const Camera& a, const Camera& b) {
  const auto fields = [](const Camera& camera) {
    return std::tie(camera.origin, camera.listener, camera.rate, camera.activity,
                    camera.latest_seconds, camera.seconds, camera.bytes);
  };
  return fields(a) == fields(b);
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

// Whether an idle machine of the option could be replaced by an earlier, equal, idle one.
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

// Why each camera's network is where it is: what would be worse on the best other machine.
std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// Why b is worse, overall.
std::string difference(const Score& a, const Score& b, double cameras) {
  const auto more = [](double was, double is) { return is > was * (1 + 1e-6) + 1e-9; };
  if (more(a.shortfall, b.shortfall)) {
    return "the slowest camera would have " + percent(1 / b.shortfall) + " of its frames, not " +
           percent(1 / a.shortfall);
  }
  if (more(a.slowdown, b.slowdown)) {
    return "cameras would have " + percent(cameras / b.slowdown) + " of their frames, not " +
           percent(cameras / a.slowdown);
  }
  if (b.late > a.late) return "an answer would be too late";
  if (more(a.latency_seconds, b.latency_seconds)) {
    return "answers would take " +
           fixed(1e3 * (b.latency_seconds - a.latency_seconds) / cameras, 1) + " ms more";
  }
  if (more(a.watts, b.watts)) return "it would take " + fixed(b.watts - a.watts, 2) + " W more";
  return "it would be as good";
}

// Fills in `why` of each camera. `found` are the options of the placement.
void explain(const Problem& problem, const Resources& resources,
             const std::vector<std::vector<Option>>& options,
             const std::vector<const Option*>& choice, Placement& placement) {
  Chosen chosen(resources, problem);
  double cameras = 0;
  for (size_t i = 0; i < choice.size(); ++i) {
    chosen.set(i, choice[i]);
    cameras += choice[i]->places != kUnplaced ? 1 : 0;
  }
  const Score score = chosen.score();
  for (size_t i = 0; i < choice.size(); ++i) {
    std::string& why = placement.cameras[i].why;
    if (choice[i]->places == kUnplaced) {
      why = "no machine can";
      continue;
    }
    const int own = place_of(choice[i]->places, Stage::kNetwork);
    int best = kNowhere;
    Score other;
    for (const Option& option : options[i]) {
      const int machine = place_of(option.places, Stage::kNetwork);
      if (machine == own) continue;
      chosen.set(i, &option);
      const Score next = chosen.score();
      if (best != kNowhere && !is_better(next, other, problem.objective)) continue;
      best = machine;
      other = next;
    }
    chosen.set(i, choice[i]);
    why = best == kNowhere ? "no other machine is of use"
                           : "on " + problem.machines[static_cast<size_t>(best)].name + " " +
                                 difference(score, other, cameras);
  }
}

constexpr double kWorthMoving = 0.9;  // of the slowdown

bool is_amount(double value) { return value >= 0 && std::isfinite(value); }

Status check(const Problem& problem) {
  const auto machines = static_cast<int>(problem.machines.size());
  for (const Machine& machine : problem.machines) {
    const plan::LinkProfile& link = machine.link;
    if (!(machine.cores > 0) || !std::isfinite(machine.cores) || !is_amount(machine.watts) ||
        !is_amount(machine.joules_per_byte) || !(link.bytes_per_second > 0) ||
        !is_amount(link.latency_seconds) || link.medium < plan::kOwnWire || link.medium > 1'000) {
      return invalid("machine " + machine.name + " has a speed or an energy that is none");
    }
  }
  for (const Camera& camera : problem.cameras) {
    const auto is_machine = [&](int m) { return m >= 0 && m < machines; };
    const bool fits = std::ranges::all_of(camera.seconds, [&](const std::vector<double>& seconds) {
      return static_cast<int>(seconds.size()) == machines &&
             std::ranges::all_of(seconds, [](double one) { return one >= 0; });
    });
    if (!is_machine(camera.origin) || !is_machine(camera.listener) || !fits) {
      return invalid("camera " + camera.name + " names machines that do not exist");
    }
    if (!is_amount(camera.rate) || !is_amount(camera.activity) || camera.activity > 1 ||
        !(camera.latest_seconds >= 0) || !std::ranges::all_of(camera.bytes, is_amount)) {
      return invalid("camera " + camera.name + " has a rate or a size that is none");
    }
  }
  return {};
}

// The expected figures of a placement's cameras.
Placement described(const Problem& problem, const Resources& resources,
                    const std::vector<const Option*>& options) {
  Chosen chosen(resources, problem);
  for (size_t i = 0; i < options.size(); ++i) chosen.set(i, options[i]);
  Placement placement{.score = chosen.score()};
  for (size_t i = 0; i < options.size(); ++i) {
    const Camera& camera = problem.cameras[i];
    Expected expected{.places = options[i]->places};
    if (expected.places != kUnplaced) {
      expected.rate = camera.rate / chosen.slowdown_of(i);
      expected.latency_seconds = chosen.latency_of(i);
      expected.joules = camera.rate > 0 ? options[i]->watts / camera.rate : 0;
    }
    placement.cameras.push_back(std::move(expected));
  }
  for (size_t m = 0; m < problem.machines.size(); ++m) placement.loads.push_back(chosen.load(m));
  return placement;
}

// The options of cameras that do not move; empty for the others.
std::vector<std::optional<Option>> kept_of(const Problem& problem, const Resources& resources,
                                           const std::vector<Places>& previous) {
  std::vector<std::optional<Option>> kept(problem.cameras.size());
  for (size_t i = 0; i < std::min(kept.size(), previous.size()); ++i) {
    if (!can(problem, problem.cameras[i], previous[i])) continue;
    kept[i] = resources.option(problem.cameras[i], previous[i]);
  }
  return kept;
}

}  // namespace

bool is_better(const Score& a, const Score& b, Objective objective) {
  const auto key = [&](const Score& score) {
    const double latency = rounded(score.latency_seconds), watts = rounded(score.watts);
    const bool soon = objective == Objective::kLatency;
    return std::tuple(rounded(score.shortfall), rounded(score.slowdown), score.late,
                      soon ? latency : watts, soon ? watts : latency);
  };
  return key(a) < key(b);
}

Result<Placement> place(const Problem& problem, const PlaceOptions& place_options) {
  SHOAL_TRY(check(problem));
  const Resources resources(problem);
  std::vector<std::vector<Option>> options;
  for (const Camera& camera : problem.cameras) {
    options.push_back(options_of(resources, problem, camera));
    if (options.back().empty()) options.back().emplace_back();
  }
  Search search(resources, problem, options, place_options.most_evaluations);
  const auto kept = kept_of(problem, resources, place_options.previous);
  const auto stays = [](const std::optional<Option>& one) { return one.has_value(); };
  Found found = search.run(std::vector<const Option*>(problem.cameras.size()));
  if (std::ranges::any_of(kept, stays)) {
    std::vector<const Option*> fixed;
    for (const auto& one : kept) fixed.push_back(one ? &*one : nullptr);
    Found near = search.run(fixed);
    const Score &a = found.score, &b = near.score;
    if (a.shortfall > kWorthMoving * b.shortfall && a.slowdown > kWorthMoving * b.slowdown) {
      // Another placement may be better, but not by that much.
      near.optimal = found.optimal && !is_better(a, b, problem.objective);
      found = std::move(near);
    }
  }
  Placement placement = described(problem, resources, found.options);
  placement.optimal = found.optimal;
  explain(problem, resources, options, found.options, placement);
  return placement;
}

Result<Placement> evaluate(const Problem& problem, const std::vector<Places>& places) {
  SHOAL_TRY(check(problem));
  if (places.size() != problem.cameras.size()) return invalid("not one place for each camera");
  const Resources resources(problem);
  std::vector<Option> options;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != kUnplaced && !can(problem, problem.cameras[i], places[i])) {
      return invalid("camera " + problem.cameras[i].name + " cannot be there");
    }
    options.push_back(resources.option(problem.cameras[i], places[i]));
  }
  std::vector<const Option*> chosen;
  for (const Option& option : options) chosen.push_back(&option);
  return described(problem, resources, chosen);
}

}  // namespace shoal::placement
