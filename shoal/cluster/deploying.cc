// How plans come to their workers.
#include <future>

#include "messages.pb.h"
#include "shoal/cluster/assigning.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/talk.h"

namespace shoal::cluster {

Result<Coordinator::Reply> Coordinator::exchange(size_t worker, const message::Message& message,
                                                 const std::string& payload,
                                                 std::chrono::seconds patience) {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_TRY(lost_[worker]);
    replies_[worker] = {};
  }
  const net::Bytes bytes = bytes_of(payload);
  SHOAL_TRY(send_to(static_cast<int>(worker), message, std::span(&bytes, payload.empty() ? 0 : 1)));
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, patience, [&] { return replies_[worker].came; });
  if (!came) return Status(Code::kDeadline, "worker " + infos_[worker].name + " does not answer");
  SHOAL_TRY(replies_[worker].status);
  return std::move(replies_[worker]);
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(const Graph& graph, const plan::Plan& plan,
                                                        bool traced) {
  SHOAL_TRY(plan::verify(graph, plan, static_cast<int>(infos_.size())));
  SHOAL_ASSIGN(plan::Schedule schedule, plan::make_schedule(graph, plan));
  std::vector<std::string> assignments(infos_.size());
  Assigning assigning(graph, plan, schedule);
  for (size_t w = 0; w < infos_.size(); ++w) {
    message::Assignment assignment;
    SHOAL_TRY(assigning.encode_for(static_cast<int>(w), infos_, assignment));
    if (assignment.tasks_size() > 0) assignments[w] = assignment.SerializeAsString();
  }
  // One deployment at a time: workers answer without saying to which.
  const std::lock_guard alone(deploying_);
  const auto course =
      std::make_shared<const Course>(Course{next_plan_++, graph, plan, std::move(schedule)});
  {
    const std::lock_guard lock(mutex_);
    requests_.add(course);
  }
  // Released again if a worker fails.
  std::unique_ptr<RemotePlan> remote(new RemotePlan(*this, course));
  std::vector<std::future<Status>> ready;
  for (size_t w = 0; w < infos_.size(); ++w) {
    if (assignments[w].empty()) continue;
    ready.push_back(std::async(std::launch::async, [&, w] {
      return assign(w, course->id, traced, assignments[w], assigning.weights());
    }));
  }
  Status status;
  for (std::future<Status>& one : ready) {
    const Status its = one.get();
    if (status.ok()) status = its;
  }
  SHOAL_TRY(status);
  const std::lock_guard lock(mutex_);
  requests_.offer(course->id, {course->id});
  return remote;
}

Status Coordinator::assign(size_t worker, uint64_t plan, bool traced, const std::string& assignment,
                           const std::map<Hash, Tensor>& weights) {
  message::Message deploy;
  deploy.mutable_deploy()->set_plan(plan);
  deploy.mutable_deploy()->set_traced(traced);
  SHOAL_ASSIGN(const Reply reply, exchange(worker, deploy, assignment, kPatience));
  for (const Hash& hash : reply.missing) {
    const auto weight = weights.find(hash);
    if (weight == weights.end()) {
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
  return exchange(worker, start, {}, kCompilePatience).status();
}

}  // namespace shoal::cluster
