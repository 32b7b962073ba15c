// SharedLayers: first layers that variants of several tasks share [Han 2016]. They are in memory
// once, and run once for an input of several tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/shared_layers/common_prefix.h"
#include "shoal/model/graph/graph.h"
#include "shoal/variants/scheduler/memory.h"
#include "shoal/variants/scheduler/task.h"

namespace shoal::serve {

// A group of variants, one per task, and their shared layers.
struct SharedGroup {
  std::vector<schedule::OptionId> members;
  prefix::CommonPrefix networks;  // suffixes in the order of members
};

// The groups that save most: at most one group for a variant, and as many as a scheduler plans for.
// Shared layers are at least a tenth of each member's work. `networks` are those of each task's
// options; nullopt if one cannot be shared. Pure.
std::vector<SharedGroup> find_shared_groups(
    std::span<const std::vector<std::optional<Graph>>> networks);

// Adds a fragment for the group to the catalog: it takes from each member its share of time, energy
// and memory.
void add_fragment(const SharedGroup& group,
                  std::span<const std::vector<std::optional<Graph>>> networks,
                  schedule::Catalog& catalog);

// The shared layers of a group on a device, while a member is loaded. Thread-safe.
class SharedLayers {
 public:
  explicit SharedLayers(Graph prefix) : prefix_(std::move(prefix)) {}

  // Fails as the device does. REQUIRES: always the same device, which outlives the runner.
  Result<std::shared_ptr<prefix::PrefixRunner>> runner(Device& device);

  // How often they ran, and for how many answers, since they were loaded.
  uint64_t runs() const;
  uint64_t uses() const;

 private:
  std::shared_ptr<prefix::PrefixRunner> loaded() const;

  const Graph prefix_;
  mutable std::mutex mutex_;
  std::weak_ptr<prefix::PrefixRunner> runner_;
};

// A member's part of a ModelSource.
struct SharedSuffix {
  std::shared_ptr<SharedLayers> layers;
  prefix::Suffix suffix;
  std::vector<TensorType> inputs;  // of the whole network, for one item
};

}  // namespace shoal::serve
