#include "shoal/serve/engine/shared_layers.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "shoal/engine/shared_layers/split_network.h"

namespace shoal::serve {
namespace {

constexpr double kLeastShare = 0.1;  // of a member's work
constexpr size_t kMostGroups = 4;    // fragments of a catalog: schedule::check()

using Networks = std::span<const std::vector<std::optional<Graph>>>;

const Graph& graph_of(Networks networks, schedule::OptionId id) {
  return *networks[id.task][id.option];
}

double macs_of(const Graph& graph) { return static_cast<double>(prefix::work_of(graph).macs); }

// What these have in common, if it is enough of each.
std::optional<SharedGroup> group_of(Networks networks, std::vector<schedule::OptionId> members) {
  std::vector<Graph> graphs;
  for (const schedule::OptionId id : members) graphs.push_back(graph_of(networks, id));
  auto common = prefix::common_prefix(graphs);
  if (!common.ok()) return std::nullopt;
  const double shared = macs_of(common->prefix);
  const bool is_enough = std::ranges::all_of(
      graphs, [&](const Graph& graph) { return shared >= kLeastShare * macs_of(graph); });
  if (!is_enough) return std::nullopt;
  return SharedGroup{std::move(members), *std::move(common)};
}

// The group of a variant: of each other task the one with most in common.
std::optional<SharedGroup> group_around(Networks networks, schedule::OptionId seed) {
  std::vector<schedule::OptionId> members{seed};
  for (size_t t = 0; t < networks.size(); ++t) {
    if (t == seed.task) continue;
    std::optional<schedule::OptionId> best;
    double most = 0;
    for (size_t i = 0; i < networks[t].size(); ++i) {
      if (!networks[t][i]) continue;
      const auto pair = group_of(networks, {seed, {t, i}});
      const double shared = pair ? macs_of(pair->networks.prefix) : 0;
      if (shared <= most) continue;
      most = shared;
      best = schedule::OptionId{t, i};
    }
    if (best) members.push_back(*best);
  }
  if (members.size() < 2) return std::nullopt;
  std::ranges::sort(members, {}, &schedule::OptionId::task);
  return group_of(networks, std::move(members));
}

}  // namespace

std::vector<SharedGroup> find_shared_groups(Networks networks) {
  std::vector<SharedGroup> found;
  for (size_t t = 0; t + 1 < networks.size(); ++t) {
    for (size_t i = 0; i < networks[t].size(); ++i) {
      if (!networks[t][i]) continue;
      if (auto group = group_around(networks, {t, i})) found.push_back(*std::move(group));
    }
  }
  const auto saved = [](const SharedGroup& group) {
    return macs_of(group.networks.prefix) * static_cast<double>(group.members.size() - 1);
  };
  std::ranges::stable_sort(found, std::greater<>(), saved);
  std::vector<SharedGroup> groups;
  std::set<std::pair<size_t, size_t>> taken;
  for (SharedGroup& group : found) {
    const bool is_free = std::ranges::none_of(group.members, [&](schedule::OptionId id) {
      return taken.contains({id.task, id.option});
    });
    if (!is_free || groups.size() == kMostGroups) continue;
    for (const schedule::OptionId id : group.members) taken.insert({id.task, id.option});
    groups.push_back(std::move(group));
  }
  return groups;
}

void add_fragment(const SharedGroup& group, Networks networks, schedule::Catalog& catalog) {
  const prefix::Work shared = prefix::work_of(group.networks.prefix);
  schedule::Fragment fragment{.bytes = shared.bytes};
  for (const schedule::OptionId id : group.members) {
    schedule::Task& task = catalog.tasks[id.task];
    schedule::Option& option = task.options[id.option];
    const double share =
        static_cast<double>(shared.macs) / std::max(1.0, macs_of(graph_of(networks, id)));
    fragment.name += (fragment.name.empty() ? "" : "+") + task.name + "." + option.variant;
    // Never less than it takes: no budget is exceeded.
    fragment.ms = std::max(fragment.ms, share * option.ms);
    fragment.joules = std::max(fragment.joules, share * option.joules);
    option.ms *= 1 - share;
    option.joules *= 1 - share;
    option.bytes = std::max<int64_t>(option.bytes - shared.bytes, 0);
    option.fragment = catalog.fragments.size();
  }
  catalog.fragments.push_back(std::move(fragment));
}

std::shared_ptr<prefix::PrefixRunner> SharedLayers::loaded() const {
  const std::scoped_lock lock(mutex_);
  return runner_.lock();
}

Result<std::shared_ptr<prefix::PrefixRunner>> SharedLayers::runner(Device& device) {
  const std::scoped_lock lock(mutex_);
  if (auto known = runner_.lock()) return known;
  SHOAL_ASSIGN(std::shared_ptr<prefix::PrefixRunner> made,
               prefix::PrefixRunner::create(device, prefix_));
  runner_ = made;
  return made;
}

uint64_t SharedLayers::runs() const {
  const auto runner = loaded();
  return runner ? runner->runs() : 0;
}

uint64_t SharedLayers::uses() const {
  const auto runner = loaded();
  return runner ? runner->uses() : 0;
}

}  // namespace shoal::serve
