// Loads the variants of tasks, and tells the scheduler what they cost here and elsewhere: times
// that are measured on this device, first layers that tasks share, and places where variants, or
// the rest of them after some layers, run on another server.
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

// What it takes to ask other servers that have the same variants; nothing: there are none.
struct TaskPlaces {
  std::optional<schedule::Cloud> cloud, worker;
};

struct LoadedTasks {
  ChooserOptions options;
  std::map<std::string, std::shared_ptr<const ModelFacts>> facts;  // of each task
};

// The engine has a model for each variant, called variant_model(); it gets those for first parts of
// networks that are split. All are loaded if they fit the memory together, and none otherwise.
// Fails as models do, and where check() does. REQUIRES: nothing was asked of the engine.
Result<LoadedTasks> load_tasks(Engine& engine, ChooserOptions tasks, const TaskPlaces& places);

// A variant of which the first layers run here and the rest in the cloud: where it takes least
// energy here, and where it is fastest, if that is another place. Pure.
std::vector<schedule::Option> split_options(const schedule::Option& here, const Graph& network,
                                            const schedule::Cloud& cloud);

}  // namespace shoal::serve
