// ProfileStore: keeps measured profiles in files. Measuring a model on every worker takes seconds;
// a profile is good for a day.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/profiling/profiling.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

namespace stored {
class Profile;
}

// The profile of one graph on one worker, and the link to it. Processes may share a folder: files
// are replaced as a whole.
class ProfileStore {
 public:
  using Time = std::chrono::system_clock::time_point;

  ProfileStore(const std::filesystem::path& folder, const Graph& graph, const ListedWorker& worker);

  // nullopt if there is no file, or it is damaged, of another version, or more than a day old.
  std::optional<MeasuredWorker> load(Time now) const;
  // Does nothing if it cannot write: the next run measures again.
  void save(const MeasuredWorker& measured, Time now) const;
  void remove() const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

// The profile of a cluster as it is stored, without a time.
void encode(const plan::ClusterProfile& profile, stored::Profile& to);

}  // namespace shoal::cluster
