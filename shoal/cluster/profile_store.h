// ProfileStore: keeps measured profiles in files. Measuring a model on every worker takes seconds;
// a profile is good for a day.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>

#include "shoal/cluster/listed_worker.h"
#include "shoal/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

namespace stored {
class Profile;
}

// The profile of one graph on these workers. Several processes may use one folder: files are
// replaced as a whole.
class ProfileStore {
 public:
  using Time = std::chrono::system_clock::time_point;

  ProfileStore(const std::filesystem::path& folder, const Graph& graph,
               std::span<const ListedWorker> workers);

  // Nothing if there is no file, or it is damaged, of another version, or more than a day old.
  std::optional<plan::ClusterProfile> load(Time now) const;
  // Does nothing where it cannot write: the next run measures again.
  void save(const plan::ClusterProfile& profile, Time now) const;
  void remove() const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  size_t workers_;
};

// A profile as it is stored, without a time.
void encode(const plan::ClusterProfile& profile, stored::Profile& to);

}  // namespace shoal::cluster
