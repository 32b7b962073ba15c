// Deployment protocol. To each worker of a plan, all at the same time:
//
//   Deploy (tasks, hashes of weights)  ->  Missing (hashes it lacks)
//   Blob for each missing weight
//   Start                              ->  Ready, when the tasks are compiled
//
// The plan is offered to requests only when all are ready. Weights travel by hash, so a worker gets
// each one once, whichever plan or model brings it. Replies do not name an exchange: one deployment
// runs at a time, with one slot for each worker.
#include "shoal/cluster/plan_deployer.h"

#include <future>
#include <random>

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"
#include "shoal/cluster/plan_encoder.h"
#include "shoal/cluster/recorder.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {
namespace {

// Numbers begin at a random one, so that plans of several coordinators do not meet on a worker.
uint64_t random_id() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

PlanDeployer::PlanDeployer(WorkerLinks& links, RequestRunner& runner)
    : links_(links), runner_(runner), next_id_(random_id()), replies_(links.size()) {}

Result<EncodedPlanPtr> PlanDeployer::encode(const plan::ScheduledPlan& scheduled) const {
  SHOAL_TRY(plan::verify(scheduled.graph(), scheduled.plan(), scheduled.schedule(),
                         static_cast<int>(links_.size())));
  auto encoded = std::make_shared<EncodedPlan>(EncodedPlan{scheduled, {}, {}});
  const std::vector<WorkerInfo> infos = links_.infos();
  PlanEncoder encoder(scheduled);
  for (size_t w = 0; w < infos.size(); ++w) {
    message::Assignment assignment;
    SHOAL_TRY(encoder.encode_for(static_cast<int>(w), infos, assignment));
    assignment.set_checked(runner_.checks() && scheduled.plan().survives > 0);
    encoded->assignments.push_back(assignment.tasks_size() > 0 ? assignment.SerializeAsString()
                                                               : std::string());
  }
  encoded->weights = encoder.weights();
  return EncodedPlanPtr(std::move(encoded));
}

Result<DeployedPlanPtr> PlanDeployer::deploy(const EncodedPlan& encoded, bool traced) {
  const std::lock_guard alone(deploying_);
  auto deployed = std::make_shared<const DeployedPlan>(DeployedPlan{make_id(), encoded.scheduled});
  // Before any worker has it, so that a loss during the deployment is noted for this plan.
  runner_.add(deployed);
  if (Status status = assign_all(deployed->id, encoded, traced); !status.ok()) {
    release(*deployed);
    return status;
  }
  runner_.offer(deployed->id, {deployed->id}, false);
  return DeployedPlanPtr(std::move(deployed));
}

Status PlanDeployer::assign_all(uint64_t plan, const EncodedPlan& encoded, bool traced) {
  std::vector<std::future<Status>> ready;
  for (size_t w = 0; w < encoded.assignments.size(); ++w) {
    if (encoded.assignments[w].empty()) continue;
    ready.push_back(std::async(std::launch::async, [&, worker = static_cast<int>(w)] {
      return assign(worker, plan, encoded, traced);
    }));
  }
  Status first;
  for (std::future<Status>& one : ready) {
    const Status status = one.get();
    if (first.ok()) first = status;
  }
  return first;
}

Status PlanDeployer::assign(int worker, uint64_t plan, const EncodedPlan& encoded, bool traced) {
  if (traced) SHOAL_TRY(compare_clocks(worker));
  message::Message deploy;
  deploy.mutable_deploy()->set_plan(plan);
  deploy.mutable_deploy()->set_traced(traced);
  const std::string& assignment = encoded.assignments[static_cast<size_t>(worker)];
  SHOAL_ASSIGN(const Reply reply, exchange(worker, deploy, assignment, kTimeout));
  SHOAL_TRY(send_weights(worker, reply.missing, encoded));
  message::Message start;
  start.mutable_start()->set_plan(plan);
  return exchange(worker, start, {}, kCompileTimeout).status();
}

Status PlanDeployer::send_weights(int worker, const std::vector<Hash>& missing,
                                  const EncodedPlan& encoded) {
  for (const Hash& hash : missing) {
    const auto weight = encoded.weights.find(hash);
    // A worker may ask for weights of this plan only, not for any bytes of which it knows the hash.
    if (weight == encoded.weights.end()) {
      return Status(Code::kCorrupt, "worker " + links_.name(worker) + " misses what was not named");
    }
    message::Message blob;
    blob.mutable_blob()->set_hash(hash);
    const net::Bytes bytes = weight->second.bytes();
    SHOAL_TRY(links_.send(worker, blob, std::span(&bytes, 1)).at("worker " + links_.name(worker)));
  }
  return {};
}

// Compares clocks once for each connection. Of a few exchanges the quickest counts: its reply was
// made halfway through it, with an error of at most half of the round trip.
Status PlanDeployer::compare_clocks(int worker) {
  constexpr int kExchanges = 3;
  if (links_.info(worker).clock_ahead) return {};
  message::Message hello;
  hello.mutable_hello()->set_version(kProtocolVersion);
  auto quickest = Clock::duration::max();
  int64_t ahead = 0;
  for (int i = 0; i < kExchanges; ++i) {
    const auto begin = Clock::now();
    SHOAL_ASSIGN(const Reply reply, exchange(worker, hello, {}, kTimeout));
    const auto took = reply.at - begin;
    if (took >= quickest) continue;
    quickest = took;
    ahead = reply.clock - nanoseconds(begin + took / 2);
  }
  links_.set_clock_ahead(worker, ahead);
  return {};
}

Status PlanDeployer::restore(uint64_t plan, const EncodedPlan& encoded, bool traced) {
  const std::lock_guard alone(deploying_);
  for (int worker : runner_.missing(plan)) {
    SHOAL_TRY(restore_to(worker, plan, encoded, traced));
  }
  return {};
}

// Gives the plan to a worker that came back. It may hold an older copy, to which nobody sends any
// more. Others are told to connect to it again before requests count on it. if_still() makes sure
// that the worker was not lost a second time in between.
Status PlanDeployer::restore_to(int worker, uint64_t plan, const EncodedPlan& encoded,
                                bool traced) {
  const WorkerLinkPtr link = links_.link(worker);
  message::Message release;
  release.mutable_release()->set_plan(plan);
  SHOAL_TRY(links_.send(worker, release));
  SHOAL_TRY(assign(worker, plan, encoded, traced));
  message::Message rejoin;
  rejoin.mutable_rejoin()->set_plan(plan);
  rejoin.mutable_rejoin()->set_worker(worker);
  for (int other : runner_.having(plan)) {
    SHOAL_TRY(exchange(other, rejoin, {}, kTimeout).status());
  }
  return links_.if_still(worker, link, [&] { runner_.restore(plan, worker); });
}

void PlanDeployer::release(const DeployedPlan& deployed) {
  runner_.remove(deployed.id);
  message::Message release;
  release.mutable_release()->set_plan(deployed.id);
  for (int worker : plan::workers_of(deployed.scheduled.plan())) {
    static_cast<void>(links_.send(worker, release));  // a worker that is lost has released it
  }
}

// The order matters: the slot is cleared before the status is read, so a loss in between puts a
// reply into the slot and is not missed.
Result<PlanDeployer::Reply> PlanDeployer::exchange(int worker, const message::Message& message,
                                                   const std::string& payload,
                                                   std::chrono::seconds timeout) {
  put(worker, {});
  SHOAL_TRY(links_.status(worker));
  const net::Bytes bytes = bytes_of(payload);
  SHOAL_TRY(links_.send(worker, message, std::span(&bytes, payload.empty() ? 0 : 1)));
  std::unique_lock lock(mutex_);
  Reply& reply = replies_[static_cast<size_t>(worker)];
  if (!changed_.wait_for(lock, timeout, [&] { return reply.came; })) {
    lock.unlock();
    return Status(Code::kDeadline, "worker " + links_.name(worker) + " does not answer");
  }
  SHOAL_TRY(reply.status);
  return std::move(reply);
}

void PlanDeployer::put(int worker, Reply reply) {
  const std::lock_guard lock(mutex_);
  replies_[static_cast<size_t>(worker)] = std::move(reply);
  changed_.notify_all();
}

void PlanDeployer::take_missing(int worker, std::vector<Hash> hashes) {
  put(worker, {.came = true, .missing = std::move(hashes)});
}

void PlanDeployer::take_ready(int worker) { put(worker, {.came = true}); }

void PlanDeployer::take_clock(int worker, int64_t clock) {
  put(worker, {.came = true, .clock = clock, .at = Clock::now()});
}

void PlanDeployer::take_failure(int worker, const Status& status) {
  put(worker, {.came = true, .status = status});
}

}  // namespace shoal::cluster
