#include "shoal/plan/placement/placement.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "shoal/plan/placement/explain.h"
#include "shoal/plan/placement/options.h"
#include "shoal/plan/placement/search.h"

namespace shoal::placement {
namespace {

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

// What the cameras of a found placement can expect.
Placement described(const Problem& problem, const Resources& resources,
                    const std::vector<const Option*>& options) {
  Chosen chosen(resources, problem);
  for (size_t i = 0; i < options.size(); ++i) chosen.set(i, options[i]);
  Placement placement{.score = chosen.score()};
  for (size_t i = 0; i < options.size(); ++i) {
    const Camera& camera = problem.cameras[i];
    Expected one{.places = options[i]->places};
    if (one.places != kUnplaced) {
      one.rate = camera.rate / chosen.slowdown_of(i);
      one.latency_seconds = chosen.latency_of(i);
      one.joules = camera.rate > 0 ? options[i]->watts / camera.rate : 0;
    }
    placement.cameras.push_back(std::move(one));
  }
  for (size_t m = 0; m < problem.machines.size(); ++m) placement.loads.push_back(chosen.load(m));
  return placement;
}

// The options of cameras that stay where they are; nothing for the others.
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

Result<Placement> place(const Problem& problem, const PlaceOptions& how) {
  SHOAL_TRY(check(problem));
  const Resources resources(problem);
  std::vector<std::vector<Option>> options;
  for (const Camera& camera : problem.cameras) {
    options.push_back(options_of(resources, problem, camera));
    if (options.back().empty()) options.back().emplace_back();
  }
  Search search(resources, problem, options, how.most_evaluations);
  const auto kept = kept_of(problem, resources, how.previous);
  const auto stays = [](const std::optional<Option>& one) { return one.has_value(); };
  Found found = search.run(std::vector<const Option*>(problem.cameras.size()));
  if (std::ranges::any_of(kept, stays)) {
    std::vector<const Option*> fixed;
    for (const auto& one : kept) fixed.push_back(one ? &*one : nullptr);
    Found near = search.run(fixed);
    const Score &a = found.score, &b = near.score;
    if (a.shortfall > kWorthMoving * b.shortfall && a.slowdown > kWorthMoving * b.slowdown) {
      // Another placement may be better, but not by so much.
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
  for (const Option& one : options) chosen.push_back(&one);
  return described(problem, resources, chosen);
}

}  // namespace shoal::placement
