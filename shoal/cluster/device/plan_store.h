// PlanStore: keeps recipes of plans in files, so that a restarted coordinator need not search
// again. A file holds a few kilobytes and no weights: the plan is made again from it and the graph
// (plan/search/plan_recipe.h).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

// The best plan of one graph on one cluster, with these options. Processes may share a folder:
// files are replaced as a whole.
class PlanStore {
 public:
  // REQUIRES: all but the folder outlive the store.
  PlanStore(const std::filesystem::path& folder, const Graph& graph,
            const plan::ClusterProfile& cluster, const plan::PlanOptions& options);

  // nullopt if there is no file, if it is damaged or of another version, or if it is no plan for
  // this graph and cluster.
  std::optional<plan::Prediction> load() const;
  // Does nothing if it cannot write: the next run searches again. Removes files of plans that are
  // two days old.
  void save(const plan::Prediction& made) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  const Graph& graph_;
  const plan::ClusterProfile& cluster_;
  const plan::PlanOptions& options_;
  std::filesystem::path file_;
};

// As plan::make_plans(), but returns only the best plan if it is stored, and otherwise stores it.
Result<std::vector<plan::Prediction>> load_or_make_plans(const std::filesystem::path& folder,
                                                         const Graph& graph,
                                                         const plan::ClusterProfile& cluster,
                                                         const plan::PlanOptions& options);

}  // namespace shoal::cluster
