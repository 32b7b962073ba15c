#include "shoal/serve/engine/task_loader.h"

#include <algorithm>
#include <utility>

#include "shoal/engine/shared_layers/split_network.h"
#include "shoal/serve/engine/model_part.h"
#include "shoal/serve/engine/shared_layers.h"

namespace shoal::serve {
namespace {

constexpr size_t kMostOptions = 64;  // of a task: schedule::check()

using Networks = std::vector<std::vector<std::optional<Graph>>>;

int64_t bytes_of(const schedule::Catalog& catalog) {
  int64_t bytes = 0;
  for (const schedule::Fragment& fragment : catalog.fragments) bytes += fragment.bytes;
  for (const schedule::Task& task : catalog.tasks) {
    for (const schedule::Option& option : task.options) bytes += option.bytes;
  }
  return bytes;
}

// Bytes of one item of all inputs.
double input_bytes(const ModelMetadata& metadata) {
  double bytes = 0;
  for (const TensorMetadata& input : metadata.inputs) {
    double elements = 1;
    for (const int64_t size : input.shape)
      elements *= static_cast<double>(std::max<int64_t>(size, 1));
    bytes += elements * static_cast<double>(input.dtype ? size_of(*input.dtype) : 1);
  }
  return bytes;
}

// Loads and measures the variants of a task. Costs of time are those of this device.
Status measure(Engine& engine, schedule::Task& task, bool stays, LoadedTasks& loaded) {
  auto& facts = loaded.facts[task.name];
  for (schedule::Option& option : task.options) {
    const std::string model = variant_model(task.name, option.variant);
    SHOAL_TRY(engine.load(model));
    ModelFacts seen = *engine.find(model)->facts();
    if (seen.ms > 0) option.ms = seen.ms;
    if (option.fallback && facts != nullptr) option.fallback->ms = facts->ms;
    seen.metadata.name = task.name;
    if (facts == nullptr) facts = std::make_shared<const ModelFacts>(std::move(seen));
    if (!stays) SHOAL_TRY(engine.unload(model));
  }
  return {};
}

// The networks of all variants, if there is something to share or to split. A special network
// shares no layers.
Networks networks_of(const Engine& engine, const schedule::Catalog& catalog, bool splits) {
  Networks networks;
  const bool wanted = splits || catalog.tasks.size() > 1;
  for (const schedule::Task& task : catalog.tasks) {
    auto& own = networks.emplace_back(task.options.size());
    for (size_t i = 0; wanted && i < task.options.size(); ++i) {
      if (task.options[i].fallback) continue;
      auto network =
          network_of(engine.source_of(variant_model(task.name, task.options[i].variant)));
      if (network.ok()) own[i] = *std::move(network);
    }
  }
  return networks;
}

Status share_layers(Engine& engine, const Networks& networks, bool stays, ChooserOptions& tasks) {
  for (SharedGroup& group : find_shared_groups(networks)) {
    const auto layers = std::make_shared<SharedLayers>(group.networks.prefix);
    add_fragment(group, networks, tasks.catalog);
    tasks.shared.push_back(layers);
    for (size_t m = 0; m < group.members.size(); ++m) {
      const schedule::OptionId id = group.members[m];
      const schedule::Task& task = tasks.catalog.tasks[id.task];
      const Graph& network = *networks[id.task][id.option];
      ModelSource source =
          engine.source_of(variant_model(task.name, task.options[id.option].variant));
      source.shared = std::make_shared<const SharedSuffix>(SharedSuffix{
          layers, std::move(group.networks.suffixes[m]), network.types(network.inputs())});
      const std::string name = source.name;
      engine.replace(std::move(source));
      if (stays) SHOAL_TRY(engine.load(name));
    }
  }
  return {};
}

// Every variant elsewhere, as it is here: it costs what the network does, and that server's time.
void add_places(const std::vector<schedule::Option>& here,
                const std::vector<std::optional<Graph>>& networks, const TaskPlaces& places,
                double bytes, schedule::Task& task) {
  std::vector<schedule::Option> away;
  for (size_t i = 0; i < here.size(); ++i) {
    if (here[i].fallback) continue;
    if (places.cloud) away.push_back(in_cloud(here[i], *places.cloud, bytes));
    if (places.worker) away.push_back(on_worker(here[i], *places.worker, bytes));
  }
  for (size_t i = 0; places.cloud && i < here.size(); ++i) {
    if (!networks[i]) continue;
    for (schedule::Option& one : split_options(here[i], *networks[i], *places.cloud)) {
      away.push_back(std::move(one));
    }
  }
  for (schedule::Option& one : away) {
    if (task.options.size() < kMostOptions) task.options.push_back(std::move(one));
  }
}

// The first parts of networks that may be split, as models.
Status add_parts(Engine& engine, const schedule::Catalog& catalog, bool stay) {
  for (const schedule::Task& task : catalog.tasks) {
    for (const schedule::Option& option : task.options) {
      if (option.place != schedule::Place::kSplit) continue;
      const std::string whole = variant_model(task.name, option.variant);
      const ModelPart part{whole, true, option.cut};
      engine.add(part_source(engine.source_of(whole), part));
      if (stay) SHOAL_TRY(engine.load(name_of(part)));
    }
  }
  return {};
}

}  // namespace

std::vector<schedule::Option> split_options(const schedule::Option& here, const Graph& network,
                                            const schedule::Cloud& cloud) {
  const double all = static_cast<double>(std::max<int64_t>(prefix::work_of(network).macs, 1));
  std::vector<schedule::Option> options;
  for (const prefix::SplitPoint& point : prefix::split_points(network)) {
    options.push_back(in_split(here, cloud,
                               {.nodes = point.nodes,
                                .share = static_cast<double>(point.first.macs) / all,
                                .bytes = point.first.bytes,
                                .sent_bytes = static_cast<double>(point.sent_bytes)}));
  }
  if (options.size() < 2) return options;
  const schedule::Option saves = *std::ranges::min_element(options, {}, &schedule::Option::joules);
  const schedule::Option fast = *std::ranges::min_element(options, {}, &schedule::Option::ms);
  if (saves.cut == fast.cut) return {saves};
  return {saves, fast};
}

Result<LoadedTasks> load_tasks(Engine& engine, ChooserOptions tasks, const TaskPlaces& places) {
  LoadedTasks loaded;
  schedule::Catalog& catalog = tasks.catalog;
  const bool all_fit = bytes_of(catalog) <= tasks.budgets.bytes;
  for (schedule::Task& task : catalog.tasks) {
    SHOAL_TRY(measure(engine, task, all_fit, loaded));
  }
  const Networks networks = networks_of(engine, catalog, places.cloud.has_value());
  std::vector<std::vector<schedule::Option>> whole;  // as they are without sharing
  for (const schedule::Task& task : catalog.tasks) whole.push_back(task.options);
  SHOAL_TRY(share_layers(engine, networks, all_fit, tasks));
  for (size_t t = 0; t < catalog.tasks.size(); ++t) {
    schedule::Task& task = catalog.tasks[t];
    const ModelMetadata& metadata = loaded.facts[task.name]->metadata;
    add_places(whole[t], networks[t], places, input_bytes(metadata), task);
  }
  SHOAL_TRY(add_parts(engine, catalog, bytes_of(catalog) <= tasks.budgets.bytes));
  SHOAL_TRY(schedule::check(catalog));
  loaded.options = std::move(tasks);
  return loaded;
}

}  // namespace shoal::serve
