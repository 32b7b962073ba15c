// How plans come to their workers.
#include <future>

#include "messages.pb.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/message_io.h"
#include "shoal/cluster/plan_encoder.h"

namespace shoal::cluster {

Result<Coordinator::Reply> Coordinator::exchange(size_t worker, const message::Message& message,
                                                 const std::string& payload,
                                                 std::chrono::seconds timeout) {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_TRY(lost_[worker]);
    replies_[worker] = {};
  }
  const net::Bytes bytes = bytes_of(payload);
  SHOAL_TRY(send_to(static_cast<int>(worker), message, std::span(&bytes, payload.empty() ? 0 : 1)));
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, timeout, [&] { return replies_[worker].came; });
  if (!came) return Status(Code::kDeadline, "worker " + infos_[worker].name + " does not answer");
  SHOAL_TRY(replies_[worker].status);
  return std::move(replies_[worker]);
}

Result<EncodedPlanPtr> Coordinator::brief(const Graph& graph, const plan::Plan& plan) const {
  SHOAL_TRY(plan::verify(graph, plan, static_cast<int>(infos_.size())));
  SHOAL_ASSIGN(plan::Schedule schedule, plan::make_schedule(graph, plan));
  auto encoded =
      std::make_shared<EncodedPlan>(EncodedPlan{graph, plan, std::move(schedule), {}, {}});
  std::vector<WorkerInfo> infos;
  {
    const std::lock_guard lock(mutex_);
    infos = infos_;
  }
  PlanEncoder assigning(encoded->graph, encoded->plan, encoded->schedule);
  for (size_t w = 0; w < infos.size(); ++w) {
    message::Assignment assignment;
    SHOAL_TRY(assigning.encode_for(static_cast<int>(w), infos, assignment));
    encoded->assignments.push_back(assignment.tasks_size() > 0 ? assignment.SerializeAsString()
                                                               : std::string());
  }
  encoded->weights = assigning.weights();
  return EncodedPlanPtr(std::move(encoded));
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(const Graph& graph, const plan::Plan& plan,
                                                        bool traced) {
  SHOAL_ASSIGN(EncodedPlanPtr encoded, brief(graph, plan));
  return deploy(std::move(encoded), traced);
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(EncodedPlanPtr encoded, bool traced) {
  // One deployment at a time: workers answer without saying to which.
  const std::lock_guard alone(deploying_);
  const auto deployed = std::make_shared<const DeployedPlan>(
      DeployedPlan{next_plan_++, encoded->graph, encoded->plan, encoded->schedule});
  {
    const std::lock_guard lock(mutex_);
    requests_.add(deployed);
  }
  // Released again if a worker fails.
  std::unique_ptr<RemotePlan> remote(new RemotePlan(*this, deployed, encoded, traced));
  std::vector<std::future<Status>> ready;
  for (size_t w = 0; w < infos_.size(); ++w) {
    if (encoded->assignments[w].empty()) continue;
    ready.push_back(std::async(std::launch::async,
                               [&, w] { return assign(w, deployed->id, traced, *encoded); }));
  }
  Status status;
  for (std::future<Status>& one : ready) {
    const Status its = one.get();
    if (status.ok()) status = its;
  }
  SHOAL_TRY(status);
  const std::lock_guard lock(mutex_);
  requests_.offer(deployed->id, {deployed->id});
  return remote;
}

std::vector<int> Coordinator::workers_that_have(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  return requests_.having(plan);
}

// Who came back has nothing of the plan, or something that nobody sends to any more.
Status Coordinator::restore(uint64_t plan, bool traced, const EncodedPlan& encoded, int worker) {
  const std::lock_guard alone(deploying_);
  const LinkPtr link = link_of(worker);
  message::Message release;
  release.mutable_release()->set_plan(plan);
  SHOAL_TRY(send_to(worker, release));
  SHOAL_TRY(assign(static_cast<size_t>(worker), plan, traced, encoded));
  message::Message rejoin;
  rejoin.mutable_rejoin()->set_plan(plan);
  rejoin.mutable_rejoin()->set_worker(worker);
  for (int other : workers_that_have(plan)) {
    SHOAL_TRY(exchange(static_cast<size_t>(other), rejoin, {}, kTimeout).status());
  }
  const std::lock_guard lock(mutex_);
  const auto w = static_cast<size_t>(worker);
  SHOAL_TRY(lost_[w]);
  if (links_[w] != link) return Status(Code::kUnavailable, "it was gone again meanwhile");
  requests_.restore(plan, worker);
  changed_.notify_all();
  return {};
}

Status Coordinator::assign(size_t worker, uint64_t plan, bool traced, const EncodedPlan& encoded) {
  message::Message deploy;
  deploy.mutable_deploy()->set_plan(plan);
  deploy.mutable_deploy()->set_traced(traced);
  SHOAL_ASSIGN(const Reply reply, exchange(worker, deploy, encoded.assignments[worker], kTimeout));
  for (const Hash& hash : reply.missing) {
    const auto weight = encoded.weights.find(hash);
    if (weight == encoded.weights.end()) {
      return Status(Code::kCorrupt, "worker " + infos_[worker].name + " misses what was not named");
    }
    message::Message blob;
    blob.mutable_blob()->set_hash(hash);
    const net::Bytes bytes = weight->second.bytes();
    SHOAL_TRY(send_to(static_cast<int>(worker), blob, std::span(&bytes, 1))
                  .at("worker " + infos_[worker].name));
  }
  message::Message start;
  start.mutable_start()->set_plan(plan);
  return exchange(worker, start, {}, kCompileTimeout).status();
}

}  // namespace shoal::cluster
