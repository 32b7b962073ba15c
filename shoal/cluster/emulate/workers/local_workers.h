// LocalWorkers: a cluster of worker processes of this machine, each with its own certificate.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/processes/process.h"
#include "shoal/cluster/members/folder.h"

namespace shoal::cluster {

struct LocalWorkersOptions {
  std::filesystem::path program;   // started as `program worker ...`: the binary `shoal`
  std::filesystem::path folder;    // where the cluster and its workers keep their files
  std::vector<std::string> flags;  // more words for every worker
  bool keep_weights = false;       // on disk, for workers that are started again
};

// Not thread-safe. Processes end with it, and with the thread that started them
// (base/processes/process.h).
class LocalWorkers {
 public:
  explicit LocalWorkers(LocalWorkersOptions options) : options_(std::move(options)) {}

  // Makes a cluster, starts workers of these names, and waits until all are ready. Fails with
  // kUnavailable once `is_cancelled` returns true.
  Status start(
      const std::vector<std::string>& names,
      const std::function<bool()>& is_cancelled = [] { return false; });

  // The folder of the cluster.
  ClusterFolder owner() const { return ClusterFolder(options_.folder / "cluster"); }

  // REQUIRES: worker < the number of names
  void send_signal(size_t worker, int number);
  // Ends the worker if it runs, starts it again at its old address, and waits until it is ready.
  Status restart(size_t worker);

 private:
  struct Worker {
    std::string name;
    std::string address;
    std::optional<Process> process;
  };

  Status start_one(Worker& worker) const;
  static Status wait_until_ready(Worker& worker);

  const LocalWorkersOptions options_;
  std::vector<Worker> workers_;
};

}  // namespace shoal::cluster
