#include "shoal/variants/scheduler/task.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <tuple>

#include "shoal/base/text/printable.h"

namespace shoal::schedule {
namespace {

constexpr size_t kMostTasks = 64, kMostOptions = 64, kMostFragments = 4;
constexpr double kMostCost = 1e15;  // sums of a day's requests stay exact enough
constexpr int64_t kMostBytes = int64_t{1} << 50;

bool is_share(double x) { return x >= 0 && x <= 1; }
bool are_costs(std::initializer_list<double> all) {
  return std::ranges::all_of(all, [](double x) { return x >= 0 && x <= kMostCost; });
}
bool are_bytes(int64_t bytes) { return bytes >= 0 && bytes <= kMostBytes; }

Status check(const Option& option, size_t fragments) {
  const auto wrong = [&](const char* what) {
    return invalid(printable(option.variant) + " " + name_of(option.place) + ": " + what);
  };
  if (!is_share(option.accuracy)) return wrong("accuracy is not between 0 and 1");
  if (!are_costs({option.ms, option.joules, option.dollars, option.sent_bytes}) ||
      !are_bytes(option.bytes)) {
    return wrong("a cost is negative or too large");
  }
  if (option.fragment && *option.fragment >= fragments) return wrong("there is no such fragment");
  if (!option.needs_memory() && (option.fragment || option.bytes > 0)) {
    return wrong("it takes memory here");
  }
  if (const auto& next = option.fallback) {
    if (!is_share(next->share) || !is_share(next->accuracy) ||
        !are_costs({next->ms, next->joules, next->dollars})) {
      return wrong("the fallback has figures that cannot be");
    }
  }
  return {};
}

Status check(const Task& task, size_t fragments) {
  if (task.options.empty()) return invalid("there is no variant");
  if (task.options.size() > kMostOptions) return invalid("there are too many variants");
  if (!(task.latency_ms >= 0) || !are_costs({task.weight, task.requests_per_day})) {
    return invalid("latency, weight or number of requests is negative or too large");
  }
  std::set<std::tuple<std::string, Place, size_t>> names;
  for (const Option& option : task.options) {
    SHOAL_TRY(check(option, fragments));
    if (!names.insert({option.variant, option.place, option.cut}).second) {
      return invalid(printable(option.variant) + " is there twice");
    }
  }
  return {};
}

}  // namespace

const char* name_of(Place place) {
  switch (place) {
    case Place::kHere:
      return "here";
    case Place::kCloud:
      return "cloud";
    case Place::kSplit:
      return "split";
    case Place::kWorker:
      return "worker";
  }
  return "?";
}

Option in_cloud(const Option& here, const Cloud& cloud, double input_bytes) {
  const double upload = input_bytes / cloud.bytes_per_second;
  const double compute = 1e-3 * here.ms / cloud.speed;
  return {.variant = here.variant,
          .place = Place::kCloud,
          .accuracy = here.accuracy,
          .ms = cloud.round_trip_ms + 1e3 * (upload + compute),
          .joules = cloud.radio_watts * upload,
          .dollars = cloud.dollars_per_second * compute,
          .sent_bytes = input_bytes};
}

Option on_worker(const Option& here, const Cloud& worker, double input_bytes) {
  Option option = in_cloud(here, worker, input_bytes);
  option.place = Place::kWorker;
  option.dollars = 0;
  return option;
}

Option in_split(const Option& here, const Cloud& cloud, const Cut& cut) {
  Option rest = here;
  rest.ms *= 1 - cut.share;
  Option option = in_cloud(rest, cloud, cut.sent_bytes);
  option.place = Place::kSplit;
  option.cut = cut.nodes;
  option.ms += cut.share * here.ms;
  option.joules += cut.share * here.joules;
  option.bytes = cut.bytes;
  return option;
}

Status check(const Catalog& catalog) {
  if (catalog.tasks.empty()) return invalid("there is no task");
  if (catalog.tasks.size() > kMostTasks) return invalid("there are too many tasks");
  if (catalog.fragments.size() > kMostFragments) return invalid("there are too many fragments");
  for (const Fragment& fragment : catalog.fragments) {
    if (!are_costs({fragment.ms, fragment.joules}) || !are_bytes(fragment.bytes)) {
      return invalid(printable(fragment.name) + ": a cost is negative or too large");
    }
  }
  std::set<std::string> names;
  for (const Task& task : catalog.tasks) {
    if (!names.insert(task.name).second) return invalid(printable(task.name) + " is there twice");
    if (const Status status = check(task, catalog.fragments.size()); !status.ok()) {
      return status.at(printable(task.name));
    }
  }
  return {};
}

Status check(const Budgets& budgets) {
  if (!are_costs({budgets.joules, budgets.dollars}) || !are_bytes(budgets.bytes)) {
    return invalid("a budget is negative or too large");
  }
  if (!(budgets.seconds > 0) || budgets.seconds > kMostCost)
    return invalid("the day has no length");
  return {};
}

}  // namespace shoal::schedule
