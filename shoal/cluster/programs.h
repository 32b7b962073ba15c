// Programs: compiled tasks by the hash of their graphs. Plans that share a task, as those for
// several losses or several turns of a stream do, share its packed weights and buffers.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "shoal/cluster/wire.h"
#include "shoal/device/device.h"

namespace shoal::cluster {

// Thread-safe.
class Programs {
 public:
  // REQUIRES: the device outlives it and what it compiled.
  explicit Programs(Device& device) : device_(device) {}

  // Compiles the graph, or returns what was compiled of it and is still in use. REQUIRES: `graph`
  // is what `message` says; runs of one executable do not overlap.
  Result<std::shared_ptr<Executable>> compile(const message::Graph& message, const Graph& graph);

 private:
  Device& device_;
  std::mutex mutex_;
  std::map<Hash, std::weak_ptr<Executable>> known_;
};

}  // namespace shoal::cluster
