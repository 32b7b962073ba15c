// Programs: compiled tasks by the hash of their graphs. Plans that share a task, such as those for
// several losses or the turns of a stream, share its packed weights and buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "shoal/cluster/messages/wire.h"
#include "shoal/engine/device/device.h"

namespace shoal::cluster {

// Estimated bytes of a compiled graph: its weights, and the values of its largest node.
size_t estimated_bytes(const Graph& graph);

// Thread-safe.
class Programs {
 public:
  // REQUIRES: the device outlives it and its executables.
  explicit Programs(Device& device, size_t budget_bytes = SIZE_MAX)
      : device_(device), budget_(budget_bytes) {}

  // Compiles the graph, or returns the executable of it that is still in use. kExhausted if all
  // executables together would exceed the budget: two coordinators may have planned for the same
  // memory. REQUIRES: `graph` is decoded from `message`; runs of one executable do not overlap.
  Result<std::shared_ptr<Executable>> compile(const message::Graph& message, const Graph& graph);

 private:
  struct Program {
    std::weak_ptr<Executable> executable;
    size_t bytes = 0;
  };

  Device& device_;
  const size_t budget_;
  std::mutex mutex_;
  std::map<Hash, Program> known_;
};

}  // namespace shoal::cluster
