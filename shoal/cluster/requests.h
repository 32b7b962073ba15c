// Requests: what becomes of requests, decided. Events come in (submitted, a piece came, a worker
// failed or is gone, time has passed); what to do comes out (send inputs, answer, give up). There
// are no threads, no clock and no sockets here: a coordinator carries it out in real time, a
// simulation in virtual time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shoal/cluster/answer.h"
#include "shoal/plan/plan.h"

namespace shoal::cluster {

// A plan that its workers have.
struct DeployedPlan {
  uint64_t id = 0;
  Graph graph;
  plan::Plan plan;
  plan::Schedule schedule;
};
using DeployedPlanPtr = std::shared_ptr<const DeployedPlan>;

// One try at a request: by this plan, and by this number between machines.
struct Attempt {
  DeployedPlanPtr deployed;
  uint64_t id = 0;
};

struct Outcome {
  Status status;
  std::vector<Tensor> outputs;
  Attempt attempt;           // that was the last
  std::vector<int> awaited;  // too late: whose outputs did not come
  bool replayed = false;
};

// What a request is to do now.
struct Step {
  std::optional<Attempt> abandon;  // its workers may forget it
  std::optional<Attempt> begin;    // with these transfers of its schedule
  std::vector<size_t> sends;
  std::optional<Outcome> end;

  bool empty() const { return !abandon && !begin && !end; }
};

class Requests {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // From the moment its workers are told of it: who is lost from then on does not have it, even if
  // he comes back.
  void add(DeployedPlanPtr deployed);
  void remove(uint64_t deployed);  // attempts at it fail

  // Plans that compute the same, the best first; empty: none any more. Where the service is
  // mended, a request that nobody can answer now waits for the next offer.
  void offer(uint64_t service, std::vector<uint64_t> deployed_plans, bool mended = false);
  // Until the next offer nobody need wait for one.
  void give_up(uint64_t service, const Status& why);
  bool in_use(uint64_t deployed) const;  // an attempt at it is on its way
  bool is_whole(uint64_t deployed) const { return missing(deployed).empty(); }
  // Workers of it that still have it, and those that do not.
  std::vector<int> having(uint64_t deployed) const;
  std::vector<int> missing(uint64_t deployed) const;

  // The first plan none of whose workers is gone from any plan of the service, or else all of whose
  // workers are there, or else the first that can do without who is not. A request whose plan fails
  // is tried once more, by another.
  uint64_t submit(uint64_t service, std::span<const Tensor> inputs, Time deadline);
  // Once: the next call gives what came up since.
  Step step(uint64_t request);
  bool has_step(uint64_t request) const;

  // The type of a piece that has come; nothing where nobody waits for it any more, kCorrupt where
  // the plan knows of no such piece from this worker.
  Result<std::optional<TensorType>> expect(int worker, uint64_t attempt, const plan::Piece& piece);
  void arrive(uint64_t attempt, const plan::Piece& piece, const Tensor& elements);

  // A worker says that an attempt failed. Where it could not reach another (`blamed`, or -1), the
  // plan counts on that one no more.
  void fail(int worker, uint64_t attempt, const Status& why, int blamed = -1);
  // What a worker sends in this plan does not arrive, `said_by` another: it counts on that one no
  // more. Where it does not count on who says so either, it does not matter: of two between whom a
  // connection broke, who both say so, one is enough to do without.
  void cut_off(uint64_t deployed, int worker, int said_by, const Status& why);
  // A worker is gone, with all plans it had.
  void lose(int worker, const Status& why);
  // It has this plan again; attempts that began without it go on without it.
  void restore(uint64_t deployed, int worker);
  void expire(Time now);

  bool knows(uint64_t attempt) const { return attempts_.contains(attempt); }  // it is on its way
  bool is_replay(uint64_t attempt) const;
  uint64_t request_of(uint64_t attempt) const { return attempts_.at(attempt); }
  Status usable(uint64_t service) const;  // or why no plan of it can be answered

 private:
  struct Offered {
    DeployedPlanPtr deployed;
    std::set<int> gone;  // whom it cannot count on
    Status why;          // the last of them is gone
  };
  struct Service {
    std::vector<uint64_t> deployed_plans;
    bool mended = false;
    Status hopeless = {};  // why no better offer will come
  };
  struct Request {
    uint64_t service = 0;
    std::vector<Tensor> inputs;
    Time deadline;
    std::optional<Answer> answer;
    Attempt attempt;         // none: it waits for an offer
    std::set<int> gone;      // whom this attempt cannot count on
    std::set<int> suspects;  // someone did not reach them: perhaps they are gone
    Status why;              // the last attempt failed
    bool replayed = false;
    bool over = false;
    Step step;
  };

  std::set<int> doubted(const Service& service) const;
  const Offered* choose(const Service& service, const std::set<int>& suspects = {}) const;
  void try_to_begin(uint64_t id);
  void begin(uint64_t id, const Offered& by);
  void fail_attempt(uint64_t id, const Status& why, bool may_replay);
  void abandon(Request& request);
  void end(Request& request, const Status& status);
  static std::vector<int> awaited(const Request& request);
  void count_out(Offered& offered, int worker, const Status& why);
  void reconsider(const Offered& offered);

  std::map<uint64_t, Service> services_;
  std::map<uint64_t, Offered> deployed_plans_;
  std::map<uint64_t, Request> requests_;
  std::map<uint64_t, uint64_t> attempts_;  // the request of each that is on its way
  uint64_t next_request_ = 1, next_attempt_ = 1;
};

}  // namespace shoal::cluster
