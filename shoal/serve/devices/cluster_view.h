// ClusterView: the server page's view of its cluster: members, their load, the links to them, and
// the plans in use.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/device/cluster_connection.h"
#include "shoal/plan/search/planner.h"
#include "shoal/serve/protocol/device_list.h"

namespace shoal::serve {

// Thread-safe.
class ClusterView {
 public:
  explicit ClusterView(std::shared_ptr<cluster::ClusterConnection> connection)
      : connection_(std::move(connection)) {}

  // The best plan of a graph for some workers. It replaces an earlier one for the same workers.
  void add(const Graph& graph, const plan::Prediction& made);

  // The present state. Asks workers about themselves unless that was done lately; their answers are
  // in the next list.
  DeviceList list();

 private:
  struct Known {
    PlanEntry entry;
    std::vector<int> workers;  // that it needs, in order
  };

  std::vector<std::string> names() const;

  void ask();

  const std::shared_ptr<cluster::ClusterConnection> connection_;
  std::mutex mutex_;
  std::vector<std::optional<cluster::WorkerReport>> reports_;  // the last ones
  bool asks_ = false;
  std::vector<Known> plans_;
  uint64_t last_id_ = 0;
  std::chrono::steady_clock::time_point asked_{};
  TaskThread asker_;  // last: its tasks use the rest
};

}  // namespace shoal::serve
