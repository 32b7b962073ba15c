// Loads the variants of tasks, and gives the scheduler their costs here and elsewhere: times
// measured on this device, first layers that tasks share, and variants that run, entirely or from
// some layer on, on another server.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/engine/chooser.h"
#include "shoal/serve/engine/engine.h"

namespace shoal::serve {

// The costs of other servers with the same variants; empty: none.
struct TaskPlaces {
  std::optional<schedule::Cloud> cloud, worker;
};

struct LoadedTasks {
  ChooserOptions options;
  std::map<std::string, std::shared_ptr<const ModelFacts>> facts;  // of each task
};

// The engine has a model for each variant, called variant_model(); models for the first parts of
// split networks are added. All are loaded if they fit the memory together, and none otherwise.
// Fails as models do, and as check() does. REQUIRES: the engine has had no requests.
Result<LoadedTasks> load_tasks(Engine& engine, ChooserOptions tasks, const TaskPlaces& places);

// A variant with its first layers here and the rest in the cloud: the split with the least energy
// here, and the fastest one, if that differs. Pure.
std::vector<schedule::Option> split_options(const schedule::Option& here, const Graph& network,
                                            const schedule::Cloud& cloud);

}  // namespace shoal::serve
