#include "shoal/variants/scheduler/simulation/bound.h"

#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "shoal/variants/scheduler/packing.h"

namespace shoal::schedule {
namespace {

// Tasks that have a variant with the fragment.
std::vector<double> users_of_fragments(const Catalog& catalog) {
  std::vector<double> users(catalog.fragments.size(), 0);
  for (const Task& task : catalog.tasks) {
    std::set<size_t> own;
    for (const Option& option : task.options) {
      if (option.fragment) own.insert(*option.fragment);
    }
    for (const size_t fragment : own) users[fragment] += 1;
  }
  return users;
}

struct GroupKey {
  size_t task;
  bool up, worker_up;
  size_t sharing;  // requests of the same input

  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

// An option of `count` requests of which a task has `of_task`.
Choice choice_of(const Catalog& catalog, const std::vector<double>& users, const GroupKey& key,
                 const Option& option, double count, double of_task) {
  double accuracy = option.accuracy, joules = option.joules, dollars = option.dollars;
  auto bytes = static_cast<double>(option.bytes);
  if (option.fallback) {
    const Fallback& next = *option.fallback;
    accuracy += next.share * (next.accuracy - accuracy);
    joules += next.share * next.joules;
    dollars += next.share * next.dollars;
  }
  if (option.fragment) {
    const Fragment& fragment = catalog.fragments[*option.fragment];
    joules += fragment.joules / static_cast<double>(key.sharing);
    bytes += static_cast<double>(fragment.bytes) / users[*option.fragment];
  }
  return {.value = count * catalog.tasks[key.task].weight * accuracy,
          .costs = {count * joules, count * dollars, bytes * count / of_task}};
}

}  // namespace

Bound bound_of(const Catalog& catalog, const Budgets& budgets, std::span<const Request> requests) {
  std::map<uint64_t, size_t> sharing;
  if (!catalog.fragments.empty()) {
    for (const Request& request : requests) ++sharing[request.input];
  }
  std::map<GroupKey, double> counts;
  std::vector<double> of_task(catalog.tasks.size(), 0);
  double weight = 0;
  for (const Request& request : requests) {
    const size_t shared = catalog.fragments.empty() ? 1 : sharing[request.input];
    counts[{request.task, request.cloud_up, request.worker_up, shared}] += 1;
    of_task[request.task] += 1;
    weight += catalog.tasks[request.task].weight;
  }
  if (weight <= 0) return {};
  const std::vector<double> users = users_of_fragments(catalog);
  std::vector<ChoiceGroup> groups;
  for (const auto& [key, count] : counts) {
    ChoiceGroup& group = groups.emplace_back();
    const Task& task = catalog.tasks[key.task];
    for (const Option& option : task.options) {
      if (option.ms > task.latency_ms || option.bytes > budgets.bytes) continue;
      if ((option.needs_cloud() && !key.up) || (option.needs_worker() && !key.worker_up)) continue;
      group.push_back(choice_of(catalog, users, key, option, count, of_task[key.task]));
    }
  }
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const auto bytes = static_cast<double>(budgets.bytes);
  return {pack(groups, {budgets.joules, budgets.dollars, bytes}).value / weight,
          pack(groups, {budgets.joules, budgets.dollars, kNoLimit}).value / weight};
}

}  // namespace shoal::schedule
