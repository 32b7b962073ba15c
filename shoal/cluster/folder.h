// ClusterFolder: what the owner of a cluster keeps of it: the authority, the identity by which he
// coordinates, and the list of workers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/net/enrol/authority.h"
#include "shoal/net/tls/identity.h"

namespace shoal::cluster {

struct ListedWorker {
  std::string name;     // as certified
  std::string address;  // "192.168.1.7:7070"

  friend bool operator==(const ListedWorker&, const ListedWorker&) = default;
};

class ClusterFolder {
 public:
  // Makes a cluster without workers. Refuses a folder that has one already.
  static Result<ClusterFolder> create(const std::filesystem::path& path, net::Time now);
  // What is missing is noticed by who needs it: to coordinate, no authority is needed.
  explicit ClusterFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  Result<net::Authority> authority() const;
  Result<net::Identity> coordinator() const;

  Result<std::vector<ListedWorker>> workers() const;  // in the order they came
  // Whoever had the name before is replaced.
  Status add(const ListedWorker& worker) const;
  Status remove(std::string_view name) const;

  // For a coordinator that is in charge alone: one more than the last that was given.
  Result<uint64_t> next_epoch() const;

 private:
  Status write(const std::vector<ListedWorker>& workers) const;

  std::filesystem::path path_;
};

}  // namespace shoal::cluster
