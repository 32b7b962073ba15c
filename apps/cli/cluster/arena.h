// Arena: a model on worker processes of this machine, to which things happen while it answers.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "equal_plans.h"
#include "exam.h"
#include "farm.h"
#include "shoal/cluster/fleet.h"

namespace shoal::cli {

struct ArenaOptions {
  size_t workers = 5;
  int survive = 1;
  uint64_t seed = 1;
};

class Arena {
 public:
  static Result<std::unique_ptr<Arena>> open(const Graph& graph, const ArenaOptions& options);

  struct Reply {
    Status status;
    bool right = false;
    double ms = 0;
  };
  // One of the exam's questions.
  Reply ask();

  WorkerFarm& farm() { return farm_; }
  const cluster::Coordinator& coordinator() const { return *coordinator_; }
  std::vector<bool> states() const;  // by worker: is it there?
  // Who comes back is there, and all plans are that there should be.
  bool is_whole() const { return coordinator_->lost().empty(); }
  void until_whole();

 private:
  Arena(const ArenaOptions& options, TemporaryFolder folder);
  Status start(const Graph& graph, const ArenaOptions& options);

  const TemporaryFolder folder_;
  WorkerFarm farm_;
  std::mt19937_64 random_;
  std::vector<Question> exam_;
  std::unique_ptr<EqualPlans> plans_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::unique_ptr<cluster::Fleet> fleet_;
};

}  // namespace shoal::cli
