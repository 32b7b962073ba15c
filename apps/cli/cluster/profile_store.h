// Profiles that were measured, kept for a day: measuring a model on every worker takes seconds.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "shoal/cluster/folder.h"
#include "shoal/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::cli {

// Of one graph on these workers. A file that is damaged is as good as none.
class ProfileStore {
 public:
  using Time = std::chrono::system_clock::time_point;

  ProfileStore(const std::filesystem::path& folder, const Graph& graph,
               std::span<const cluster::ListedWorker> workers);

  // Nothing where there is none, or it is too old.
  std::optional<plan::ClusterProfile> load(Time now) const;
  void save(const plan::ClusterProfile& profile, Time now) const;
  // It does not say what is the case any more.
  void forget() const;

 private:
  std::filesystem::path file_;
  size_t workers_;
};

// All that is known of a cluster.
nlohmann::json describe(const plan::ClusterProfile& profile);

}  // namespace shoal::cli
