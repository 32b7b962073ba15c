// Deployment protocol. To each worker of a plan, all at the same time:
//
//   Deploy (tasks, hashes of weights)  ->  Missing (hashes it lacks, and what it has of each)
//   Blob for each chunk                ->  Stored
//   Start                              ->  Working, every second
//                                      ->  Ready, when the tasks are compiled; or Missing, where
//                                          weights on its disk are damaged: back to the Blobs
//
// The plan is offered to requests only when all are ready. Weights are identified by hash, so a
// worker gets each one once, whichever plan or model needs it, and a repeated deployment resumes. A
// worker takes part in one deployment at a time, and its replies are matched by kind and plan: a
// late one, of an exchange that was given up, is dropped. A slow worker delays only its own
// deployments. The time of a deployment is not bounded, but each step of it must be answered.
#include "shoal/cluster/coordinator/runtime/plan_deployer.h"

#include <future>
#include <random>

#include "messages.pb.h"
#include "shoal/cluster/coordinator/runtime/plan_encoder.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/tasks/recorder.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {

// Runs WeightSchedule. One thread sends to all workers of a plan, so that they take turns whatever
// their links are; reader threads record acknowledgements.
Status WeightSender::send(uint64_t plan, const MissingWeights& missing,
                          const std::map<Hash, Tensor>& weights) {
  WeightSchedule schedule(options_.progress_timeout);
  SHOAL_TRY(fill(schedule, missing, weights));
  if (schedule.is_done()) return {};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [worker, hashes] : missing) sending_[worker] = {plan, &schedule};
  }
  Status status;
  for (const auto& [worker, hashes] : missing) {
    // After the schedule is known to fail(), so that no loss in between is missed.
    if (status.ok()) status = links_.status(worker);
  }
  if (status.ok()) status = carry_out(schedule, weights);
  const std::lock_guard lock(mutex_);
  for (const auto& [worker, hashes] : missing) sending_.erase(worker);
  return status;
}

// A worker may ask for weights of its plan only, not for any bytes whose hash it knows.
Status WeightSender::fill(WeightSchedule& schedule, const MissingWeights& missing,
                          const std::map<Hash, Tensor>& weights) const {
  for (const auto& [worker, hashes] : missing) {
    std::vector<WeightSchedule::Weight> lacking;
    for (const auto& [hash, have] : hashes) {
      const auto weight = weights.find(hash);
      if (weight == weights.end()) {
        return Status(Code::kCorrupt, "misses what was not named")
            .at("worker " + links_.name(worker));
      }
      const uint64_t size = weight->second.bytes().size();
      // A worker that has all of it was killed before it could finish the file, or has other bytes
      // under this name. It begins anew.
      lacking.push_back({hash, size, have < size ? have : 0});
    }
    schedule.add(worker, lacking);
  }
  return {};
}

Status WeightSender::carry_out(WeightSchedule& schedule, const std::map<Hash, Tensor>& weights) {
  for (;;) {
    std::optional<WeightChunk> chunk;
    std::optional<WeightSchedule::Failure> failure;
    WeightsProgress progress;
    {
      std::unique_lock lock(mutex_);
      for (;;) {
        failure = schedule.failure(Clock::now());
        if (failure || schedule.is_done()) break;
        chunk = schedule.next(Clock::now());
        if (chunk) break;
        changed_.wait_until(lock, schedule.next_time(Clock::now()));
      }
      progress = schedule.progress();
    }
    // Names are the links', which must not be called under the lock.
    if (failure) return failure->status.at("worker " + links_.name(failure->worker));
    if (options_.progress) SHOAL_TRY(options_.progress(progress));
    if (!chunk) return {};
    SHOAL_TRY(send_chunk(*chunk, weights.at(chunk->hash).bytes()));
  }
}

Status WeightSender::send_chunk(const WeightChunk& chunk, net::Bytes whole) const {
  const WorkerLinkPtr link = links_.link(chunk.worker);
  if (link == nullptr) return Status(Code::kUnavailable, "the coordinator is closing");
  message::Message message;
  message.mutable_blob()->set_hash(chunk.hash);
  message.mutable_blob()->set_offset(chunk.offset);
  message.mutable_blob()->set_total(whole.size());
  const std::string control = message.SerializeAsString();
  const net::Bytes part = whole.subspan(static_cast<size_t>(chunk.offset), chunk.bytes);
  const net::FrameView frame{
      .control = bytes_of(control), .payload = std::span(&part, 1), .urgent = false, .bulk = true};
  return link->channel()
      .send(frame, net::after(options_.progress_timeout))
      .at("worker " + links_.name(chunk.worker));
}

void WeightSender::acknowledge(int worker, const Hash& hash, uint64_t have) {
  const std::lock_guard lock(mutex_);
  const auto sending = sending_.find(worker);
  if (sending == sending_.end()) return;  // that deployment has ended
  sending->second.schedule->acknowledge(worker, hash, have, Clock::now());
  changed_.notify_all();
}

void WeightSender::fail(int worker, uint64_t plan, const Status& why) {
  const std::lock_guard lock(mutex_);
  const auto sending = sending_.find(worker);
  if (sending == sending_.end()) return;
  if (plan != 0 && plan != sending->second.plan) return;
  sending->second.schedule->fail(worker, why);
  changed_.notify_all();
}

PlanDeployer::PlanDeployer(WorkerLinks& links, RequestRunner& runner, DeployOptions options)
    : links_(links),
      runner_(runner),
      progress_timeout_(options.progress_timeout),
      weights_(links, std::move(options)),
      turns_(links.size()),
      exchanges_(links.size()) {}

uint64_t PlanDeployer::make_id() {
  std::random_device random;
  const uint64_t id = uint64_t{random()} << 32 | random();
  return id != 0 ? id : 1;  // 0 stands for no plan
}

// In the order of their numbers, so that two deployments never wait for each other.
PlanDeployer::Turns PlanDeployer::turns(const std::vector<int>& workers) {
  Turns turns;
  for (int worker : workers) turns.emplace_back(turns_[static_cast<size_t>(worker)]);
  return turns;
}

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
  std::vector<int> workers;
  for (size_t w = 0; w < encoded.assignments.size(); ++w) {
    if (!encoded.assignments[w].empty()) workers.push_back(static_cast<int>(w));
  }
  const Turns held = turns(workers);
  return assign(workers, plan, encoded, traced);
}

Status PlanDeployer::assign(const std::vector<int>& workers, uint64_t plan,
                            const EncodedPlan& encoded, bool traced) {
  constexpr int kRounds = 3;  // a worker with a bad disk is not served for ever
  SHOAL_ASSIGN(MissingWeights missing, with_all(workers, [&](int worker) -> Result<Reply> {
                 if (traced) SHOAL_TRY(compare_clocks(worker));
                 return announce(worker, plan, encoded, traced);
               }));
  message::Message start;
  start.mutable_start()->set_plan(plan);
  std::vector<int> left = workers;
  for (int round = 0; round < kRounds && !left.empty(); ++round) {
    SHOAL_TRY(weights_.send(plan, missing, encoded.weights));
    SHOAL_ASSIGN(missing, with_all(left, [&](int worker) {
                   return exchange(worker, start, {}, progress_timeout_);
                 }));
    left.clear();
    for (const auto& [worker, weights] : missing) left.push_back(worker);
  }
  if (left.empty()) return {};
  return Status(Code::kExhausted,
                "worker " + links_.name(left.front()) + " does not keep the weights of the plan");
}

Result<PlanDeployer::Reply> PlanDeployer::announce(int worker, uint64_t plan,
                                                   const EncodedPlan& encoded, bool traced) {
  message::Message deploy;
  deploy.mutable_deploy()->set_plan(plan);
  deploy.mutable_deploy()->set_traced(traced);
  return exchange(worker, deploy, encoded.assignments[static_cast<size_t>(worker)],
                  kMessageTimeout);
}

// Talks to all of them at the same time. Returns the weights that workers miss, or the first error.
Result<MissingWeights> PlanDeployer::with_all(const std::vector<int>& workers,
                                              const std::function<Result<Reply>(int)>& talk) {
  std::vector<std::future<Result<Reply>>> replies;
  for (int worker : workers) {
    replies.push_back(std::async(std::launch::async, [&talk, worker] { return talk(worker); }));
  }
  Status first;
  MissingWeights missing;
  for (size_t i = 0; i < workers.size(); ++i) {
    Result<Reply> reply = replies[i].get();
    if (!reply.ok()) {
      if (first.ok()) first = reply.status();
    } else if (!reply->is_ready) {
      missing[workers[i]] = std::move(reply->missing);
    }
  }
  if (!first.ok()) return first;
  return missing;
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
    SHOAL_ASSIGN(const Reply reply, exchange(worker, hello, {}, kMessageTimeout));
    const auto took = reply.at - begin;
    if (took >= quickest) continue;
    quickest = took;
    ahead = reply.clock - nanoseconds(begin + took / 2);
  }
  links_.set_clock_ahead(worker, ahead);
  return {};
}

Status PlanDeployer::restore(uint64_t plan, const EncodedPlan& encoded, bool traced) {
  for (int worker : runner_.missing(plan)) {
    SHOAL_TRY(restore_to(worker, plan, encoded, traced));
  }
  return {};
}

// Gives the plan to a worker that came back. It may hold an older, abandoned copy. Others are told
// to connect to it again before requests count on it. if_still() makes sure that the worker was not
// lost again in between.
Status PlanDeployer::restore_to(int worker, uint64_t plan, const EncodedPlan& encoded,
                                bool traced) {
  const WorkerLinkPtr link = links_.link(worker);
  message::Message release;
  release.mutable_release()->set_plan(plan);
  {
    const Turns held = turns({worker});
    SHOAL_TRY(links_.send(worker, release));
    SHOAL_TRY(assign({worker}, plan, encoded, traced));
  }
  message::Message rejoin;
  rejoin.mutable_rejoin()->set_plan(plan);
  rejoin.mutable_rejoin()->set_worker(worker);
  for (int other : runner_.having(plan)) {
    const Turns held = turns({other});
    SHOAL_TRY(exchange(other, rejoin, {}, kMessageTimeout).status());
  }
  return links_.if_still(worker, link, [&] { runner_.restore(plan, worker); });
}

void PlanDeployer::release(const DeployedPlan& deployed) {
  runner_.remove(deployed.id);
  message::Message release;
  release.mutable_release()->set_plan(deployed.id);
  for (int worker : plan::workers_of(deployed.scheduled.plan())) {
    links_.post(worker, release);  // a worker that is lost has released it
  }
}

PlanDeployer::Exchange PlanDeployer::opened_by(const message::Message& message) {
  switch (message.kind_case()) {
    case message::Message::kDeploy:
      return {Awaited::kMissing, message.deploy().plan()};
    case message::Message::kStart:
      return {Awaited::kReadyOrMissing, message.start().plan()};
    case message::Message::kRejoin:
      return {Awaited::kReady, message.rejoin().plan()};
    default:
      return {Awaited::kClock};
  }
}

// The order matters: the exchange is open before the status is read, so a loss in between answers
// it and is not missed.
Result<PlanDeployer::Reply> PlanDeployer::exchange(int worker, const message::Message& message,
                                                   const std::string& payload,
                                                   std::chrono::milliseconds timeout) {
  Exchange& current = exchanges_[static_cast<size_t>(worker)];
  {
    const std::lock_guard lock(mutex_);
    current = opened_by(message);
  }
  SHOAL_TRY(links_.status(worker));
  const net::Bytes bytes = bytes_of(payload);
  SHOAL_TRY(links_.send(worker, message, std::span(&bytes, payload.empty() ? 0 : 1)));
  std::unique_lock lock(mutex_);
  current.heard = Clock::now();
  while (!changed_.wait_until(lock, current.heard + timeout, [&] { return current.answered; })) {
    if (Clock::now() >= current.heard + timeout) break;  // else it gave a sign of progress
  }
  Exchange ended = std::exchange(current, {});
  lock.unlock();
  if (!ended.answered) {
    return Status(Code::kDeadline, "worker " + links_.name(worker) + " does not answer");
  }
  SHOAL_TRY(ended.reply.status);
  return std::move(ended.reply);
}

bool PlanDeployer::is_answered_by(const Exchange& exchange, Awaited kind, uint64_t plan) {
  if (exchange.awaited == Awaited::kNothing || exchange.answered) return false;
  // A failure (kNothing) answers whatever is awaited.
  if (kind == Awaited::kNothing) return plan == 0 || plan == exchange.plan;
  const bool either = exchange.awaited == Awaited::kReadyOrMissing &&
                      (kind == Awaited::kReady || kind == Awaited::kMissing);
  return plan == exchange.plan && (either || kind == exchange.awaited);
}

void PlanDeployer::answer(int worker, Awaited kind, uint64_t plan, Reply reply) {
  const std::lock_guard lock(mutex_);
  Exchange& current = exchanges_[static_cast<size_t>(worker)];
  if (!is_answered_by(current, kind, plan)) return;
  current.answered = true;
  current.reply = std::move(reply);
  changed_.notify_all();
}

Status PlanDeployer::take_missing(int worker, const message::Missing& message) {
  if (message.have_size() != message.hashes_size()) {
    return Status(Code::kCorrupt, "misses weights without saying how much of them");
  }
  Reply reply;
  for (int i = 0; i < message.hashes_size(); ++i) {
    reply.missing[message.hashes(i)] = message.have(i);
  }
  answer(worker, Awaited::kMissing, message.plan(), std::move(reply));
  return {};
}

void PlanDeployer::take_working(int worker, uint64_t plan) {
  const std::lock_guard lock(mutex_);
  Exchange& current = exchanges_[static_cast<size_t>(worker)];
  if (current.plan == plan) current.heard = Clock::now();
}

void PlanDeployer::take_ready(int worker, uint64_t plan) {
  answer(worker, Awaited::kReady, plan, {.is_ready = true});
}

void PlanDeployer::take_clock(int worker, int64_t clock) {
  answer(worker, Awaited::kClock, 0, {.clock = clock, .at = Clock::now()});
}

void PlanDeployer::take_failure(int worker, uint64_t plan, const Status& status) {
  weights_.fail(worker, plan, status);
  answer(worker, Awaited::kNothing, plan, {.status = status});
}

}  // namespace shoal::cluster
