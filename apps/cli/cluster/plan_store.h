// Plans that were searched for, kept: a coordinator that is started again goes on with them. Of a
// plan it keeps how it was made, which is small; weights are the model's.
#pragma once

#include <filesystem>
#include <optional>

#include "shoal/plan/search/planner.h"

namespace shoal::cli {

// Of one graph on one cluster, with these options. A file that is damaged is as good as none.
class PlanStore {
 public:
  PlanStore(const std::filesystem::path& folder, const Graph& graph,
            const plan::ClusterProfile& cluster, const plan::PlanOptions& options);

  std::optional<plan::Prediction> load() const;
  void save(const plan::Prediction& made) const;

 private:
  const Graph& graph_;
  const plan::ClusterProfile& cluster_;
  const plan::PlanOptions& options_;
  std::filesystem::path file_;
};

// The best first, or only the best, where it is known already.
Result<std::vector<plan::Prediction>> make_or_load_plans(const std::filesystem::path& folder,
                                                         const Graph& graph,
                                                         const plan::ClusterProfile& cluster,
                                                         const plan::PlanOptions& options);

}  // namespace shoal::cli
