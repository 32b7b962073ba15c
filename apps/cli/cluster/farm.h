// WorkerFarm: a cluster on this machine, every worker a process with a certificate of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "child.h"
#include "shoal/cluster/folder.h"

namespace shoal::cli {

// A folder that is gone when it is no longer needed.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

class WorkerFarm {
 public:
  // Cluster and workers keep their files in the folder; all workers are started with these flags.
  // Where they keep weights, one that is started again finds those that it had.
  WorkerFarm(std::filesystem::path folder, std::vector<std::string> flags, bool keep_weights)
      : folder_(std::move(folder)), flags_(std::move(flags)), keep_weights_(keep_weights) {}

  // Until all are ready, or until someone has had enough.
  Status start(const std::vector<std::string>& names, const std::function<bool()>& enough);
  cluster::ClusterFolder owner() const { return cluster::ClusterFolder(folder_ / "cluster"); }

  void signal(size_t worker, int number);
  Status restart(size_t worker);  // one that has been killed, at its old address

 private:
  struct Worker {
    std::string name;
    std::string address;
    std::list<Child> process;  // one, or none
  };

  Status start_one(Worker& worker) const;
  static Status wait_for(Worker& worker);

  const std::filesystem::path folder_;
  const std::vector<std::string> flags_;
  const bool keep_weights_;
  std::vector<Worker> workers_;
};

}  // namespace shoal::cli
