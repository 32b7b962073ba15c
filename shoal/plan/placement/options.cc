#include "shoal/plan/placement/options.h"

#include <algorithm>
#include <cmath>

#include "shoal/plan/cost/steps.h"

namespace shoal::placement {
namespace {

constexpr size_t kMostPlaces = 1'300;  // of a camera, until only sensible ones are tried: 6^4

Use& use_of(std::vector<Use>& uses, size_t resource) {
  const auto it = std::ranges::lower_bound(uses, resource, {}, &Use::resource);
  if (it != uses.end() && it->resource == resource) return *it;
  return *uses.insert(it, Use{.resource = resource});
}

void add(std::vector<Use>& uses, size_t resource, double rate, double seconds) {
  Use& use = use_of(uses, resource);
  use.load += rate * seconds;
  use.moment += rate * seconds * seconds;
  use.seconds += seconds;
  ++use.visits;
}

// Whether a takes no more than b of anything.
bool dominates(const Option& a, const Option& b) {
  if (a.seconds > b.seconds || a.watts > b.watts) return false;
  return std::ranges::all_of(a.uses, [&](const Use& use) {
    const auto it = std::ranges::lower_bound(b.uses, use.resource, {}, &Use::resource);
    if (it == b.uses.end() || it->resource != use.resource) return false;
    return use.load <= it->load && use.moment <= it->moment && use.seconds <= it->seconds &&
           use.visits <= it->visits;
  });
}

std::vector<Places> all_places(const std::vector<int>& machines) {
  std::vector<Places> all;
  for (int decode : machines) {
    for (int gate : machines) {
      for (int network : machines) {
        for (int track : machines) all.push_back({decode, gate, network, track});
      }
    }
  }
  return all;
}

std::vector<Places> sensible_places(const std::vector<int>& machines, int origin, int listener) {
  std::vector<Places> all;
  for (int network : machines) {
    for (int decode : {origin, network, listener}) {
      for (int gate : {decode, network, listener}) {
        for (int track : {origin, network, listener}) all.push_back({decode, gate, network, track});
      }
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Resources::Resources(const Problem& problem) : problem_(problem) {
  for (const Machine& machine : problem.machines) {
    links_.workers.emplace_back();
    links_.links.push_back(machine.link);
    cores_.push_back(machine.cores);
  }
  cores_.resize(cores_.size() + plan::resource_count(links_), 1);
}

void Resources::compute(Option& option, int machine, double rate, double seconds) const {
  const auto m = static_cast<size_t>(machine);
  option.seconds += seconds;
  option.watts += problem_.machines[m].watts * rate * seconds;
  if (seconds > 0) add(option.uses, m, rate, seconds);
}

void Resources::send(Option& option, int from, int to, double rate, double bytes) const {
  if (from == to || bytes == 0) return;
  const Machine& sender = problem_.machines[static_cast<size_t>(from)];
  const Machine& receiver = problem_.machines[static_cast<size_t>(to)];
  option.seconds += plan::seconds_of(bytes, sender.link, receiver.link);
  option.watts += rate * bytes * (sender.joules_per_byte + receiver.joules_per_byte);
  // Others use what a slower peer leaves of a wire, but not of the air.
  const double out = sender.link.bytes_per_second, in = receiver.link.bytes_per_second;
  const std::array<double, 4> bandwidths = {out, in, std::min(out, in), std::min(out, in)};
  size_t k = 0;
  for (plan::Resource resource : plan::resources_of(links_, from, to)) {
    add(option.uses, problem_.machines.size() + resource, rate, bytes / bandwidths[k++]);
  }
}

Option Resources::option(const Camera& camera, const Places& places) const {
  Option option{.places = places};
  if (places == kUnplaced) return option;
  const double looks = camera.rate * camera.activity;
  // Bytes into each stage, and of the answer.
  const std::array<double, kStages + 1> rates = {camera.rate, camera.rate, looks, looks,
                                                 camera.rate};
  int from = camera.origin;
  for (size_t s = 0; s < kStages; ++s) {
    send(option, from, places[s], rates[s], camera.bytes[s]);
    from = places[s];
    const double rate = s == static_cast<size_t>(Stage::kNetwork) ? looks : camera.rate;
    compute(option, from, rate, camera.seconds[s][static_cast<size_t>(from)]);
  }
  send(option, from, camera.listener, rates[kStages], camera.bytes[kStages]);
  return option;
}

bool can(const Problem& problem, const Camera& camera, const Places& places) {
  const auto is_there = [&](int machine) {
    return machine >= 0 && static_cast<size_t>(machine) < problem.machines.size() &&
           problem.machines[static_cast<size_t>(machine)].present;
  };
  if (!is_there(camera.origin) || !is_there(camera.listener)) return false;
  for (size_t s = 0; s < kStages; ++s) {
    if (!is_there(places[s])) return false;
    if (!std::isfinite(camera.seconds[s][static_cast<size_t>(places[s])])) return false;
  }
  return true;
}

std::vector<Option> options_of(const Resources& resources, const Problem& problem,
                               const Camera& camera) {
  std::vector<int> machines;
  for (size_t m = 0; m < problem.machines.size(); ++m) {
    if (problem.machines[m].present) machines.push_back(static_cast<int>(m));
  }
  const size_t count = machines.size();
  std::vector<Option> all;
  for (const Places& places : count* count* count* count <= kMostPlaces
                                  ? all_places(machines)
                                  : sensible_places(machines, camera.origin, camera.listener)) {
    if (can(problem, camera, places)) all.push_back(resources.option(camera, places));
  }
  std::vector<Option> best;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto beats = [&](size_t j) {
      // Of two that are alike, the first stays.
      return dominates(all[j], all[i]) && (j < i || !dominates(all[i], all[j]));
    };
    bool is_beaten = false;
    for (size_t j = 0; j < all.size() && !is_beaten; ++j) is_beaten = j != i && beats(j);
    if (!is_beaten) best.push_back(all[i]);
  }
  return best;
}

Chosen::Chosen(const Resources& resources, const Problem& problem)
    : resources_(resources),
      problem_(problem),
      options_(problem.cameras.size()),
      totals_(resources.count()) {}

void Chosen::set(size_t camera, const Option* option) {
  add_up(options_[camera], -1);
  options_[camera] = option;
  add_up(option, 1);
}

void Chosen::add_up(const Option* option, double times) {
  if (option == nullptr) return;
  for (const Use& use : option->uses) {
    Use& total = totals_[use.resource];
    total.load += times * use.load;
    total.moment += times * use.moment;
    total.seconds += times * use.seconds;
  }
}

double Chosen::slowdown_of(size_t camera) const {
  double slowest = 1;
  for (const Use& use : options_[camera]->uses) slowest = std::max(slowest, load(use.resource));
  return slowest;
}

double Chosen::wait_of(const Use& use) const {
  const Use& total = totals_[use.resource];
  const double others = std::max(0.0, total.seconds - use.seconds);
  const double idle = 1 - load(use.resource);
  const double queue = idle > 0 ? std::min(others, total.moment / (2 * idle)) : others;
  return use.visits * queue / resources_.cores(use.resource);
}

double Chosen::latency_of(size_t camera) const {
  double seconds = options_[camera]->seconds;
  for (const Use& use : options_[camera]->uses) seconds += wait_of(use);
  return seconds;
}

Score Chosen::score() const {
  Score score;
  for (size_t i = 0; i < options_.size(); ++i) {
    if (options_[i] == nullptr || options_[i]->places == kUnplaced) continue;
    const double slowdown = slowdown_of(i), latency = latency_of(i);
    score.shortfall = std::max(score.shortfall, slowdown);
    score.slowdown += slowdown;
    score.late += latency > problem_.cameras[i].latest_seconds ? 1 : 0;
    score.latency_seconds += latency;
    score.watts += options_[i]->watts;
  }
  return score;
}

}  // namespace shoal::placement
