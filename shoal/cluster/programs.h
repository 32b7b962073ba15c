// Programs: compiled tasks, by the hash of what was to be compiled. Plans that share a task, as
// those for several losses or several turns of a stream do, share its packed weights and buffers.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "shoal/cluster/wire.h"
#include "shoal/device/device.h"

namespace shoal::cluster {

class Programs {
 public:
  // The device outlives it.
  explicit Programs(Device& device) : device_(device) {}

  // The graph, which is what the message says, compiled; kept while somebody uses it. Runs of what
  // is shared must not overlap.
  Result<std::shared_ptr<Executable>> compile(const message::Graph& message, const Graph& graph);

 private:
  Device& device_;
  std::mutex mutex_;
  std::map<Hash, std::weak_ptr<Executable>> known_;
};

}  // namespace shoal::cluster
