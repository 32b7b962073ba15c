// SimTeam: a team of workers and its coordinator in virtual time. Requests and FailoverPolicy
// decide, as in production. A request takes as long as plan::simulate() says; workers, threads and
// sockets are simulated.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shoal/cluster/chaos/sim_clock.h"
#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/cluster/coordinator/policy/requests.h"
#include "shoal/plan/hierarchy/levels.h"
#include "shoal/plan/search/planner.h"

namespace shoal::chaos {

// A plan for some places of a team.
struct TeamPlan {
  plan::ScheduledPlan scheduled;  // its workers are places
  cluster::Workers uses;
  double seconds = 0;          // of one answer
  double period_seconds = 0;   // between two, while many requests are in progress
  std::vector<double> giving;  // by place: seconds until it has its weights
  std::vector<std::pair<plan::Piece, Tensor>> answer;  // what comes to the coordinator
};
using TeamPlanPtr = std::shared_ptr<const TeamPlan>;

// Not thread-safe.
class TeamPlans {
 public:
  // `groups` say which workers are similar. All outlive it.
  TeamPlans(const Graph& graph, const plan::ClusterProfile& cluster,
            const std::vector<plan::Choices::Group>& groups);

  // The plan that make_plans() finds for these members of a team; similar workers count as equal.
  Result<TeamPlanPtr> find(const std::vector<int>& team, const cluster::Workers& places);

  uint64_t searches() const { return found_.size(); }

 private:
  using Kinds = std::vector<size_t>;  // groups, by place

  struct Found {
    Result<plan::Prediction> made;
    double period_seconds = 0;
  };

  const Found& search(const Kinds& kinds);
  plan::ClusterProfile cluster_of(const Kinds& kinds) const;
  Result<TeamPlanPtr> make(const Kinds& kinds, const cluster::Workers& places);

  const Graph& graph_;
  const plan::ClusterProfile& cluster_;
  const std::vector<plan::Choices::Group>& groups_;
  std::vector<size_t> kinds_;  // by worker
  std::map<Kinds, Found> found_;
  std::map<std::pair<Kinds, cluster::Workers>, TeamPlanPtr> made_;  // by the team's kinds
};

class SimTeam {
 public:
  // Called with the outcome of each request and the time it took.
  using Ended = std::function<void(const cluster::RequestOutcome&, Time took)>;
  struct Counts {
    uint64_t deployed = 0, restored = 0;  // plans
  };

  // Members not in `away` are present from the beginning. The clock and the plans outlive it.
  SimTeam(Clock& clock, TeamPlans& plans, std::vector<int> members, const cluster::Workers& away,
          Ended ended);
  SimTeam(const SimTeam&) = delete;
  SimTeam& operator=(const SimTeam&) = delete;

  void submit(std::span<const Tensor> inputs, Time timeout, uint64_t client);
  void expire();
  // Members by place. A loss is noticed after a while; a worker that returns is found when the
  // coordinator looks again.
  void lose(int place, Time noticed_after);
  void come_back(int place);

  // How long a request would take now, by the present plan; infinity if there is none.
  double expected_seconds() const;
  size_t open() const { return open_.size(); }
  const Counts& counts() const { return counts_; }

 private:
  // A plan, or one worker's part of it, that is being deployed.
  struct Deploying {
    cluster::Workers set;
    uint64_t plan = 0;
    std::optional<int> restored = {};
    uint64_t turn = 0;  // tells it from earlier ones
  };
  struct Member {
    bool up = true, linked = false;
    int life = 0;  // counts losses: what was to happen in an earlier one does not
  };

  void notice(int place);
  void reach(int place);
  void mend();
  bool restore();
  void deploy(const cluster::Workers& set, const TeamPlanPtr& plan);
  void begin_deploying(Deploying what, Time takes);
  void finish_deploying();
  void stop_deploying_with(int place);
  void withdraw(uint64_t plan);
  void retire();
  void pump();
  void begin(const cluster::Attempt& attempt);
  void arrive(uint64_t attempt);
  cluster::Workers present() const;
  bool has(int place, const TeamPlan& plan) const { return plan.uses.contains(place); }
  void set_time() { requests_.set_time(now()); }
  cluster::Requests::Time now() const { return cluster::Requests::Time(clock_.now()); }

  Clock& clock_;
  TeamPlans& plans_;
  const std::vector<int> workers_;
  const Ended ended_;
  std::vector<Member> members_;  // by place
  cluster::Requests requests_;
  cluster::FailoverPolicy policy_{true};
  std::map<uint64_t, TeamPlanPtr> deployed_;  // by plan
  std::optional<Deploying> deploying_;
  std::set<uint64_t> retired_;                 // plans to be withdrawn when no request uses them
  std::map<uint64_t, Time> open_;              // requests, and when they came
  std::map<uint64_t, TeamPlanPtr> under_way_;  // attempts that no loss has broken
  TeamPlanPtr current_;                        // that the next request would use
  Time lost_at_{0}, busy_until_{0};
  uint64_t next_plan_ = 1, next_turn_ = 1;
  Counts counts_;
};

}  // namespace shoal::chaos
