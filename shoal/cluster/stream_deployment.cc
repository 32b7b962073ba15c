// Plans for throughput, replaced as a whole after a loss. The first request that fails makes plans
// for the workers that are left while others wait for it; each failed request is then tried once
// more. No standby plans are kept: a round may have hundreds of turns, and all workers are in use.
#include "shoal/cluster/stream_deployment.h"

namespace shoal::cluster {
namespace {

Workers workers_left(const Coordinator& coordinator) {
  Workers workers;
  for (int w = 0; w < static_cast<int>(coordinator.worker_count()); ++w) workers.insert(w);
  for (int worker : coordinator.lost()) workers.erase(worker);
  return workers;
}

}  // namespace

Result<std::unique_ptr<StreamDeployment>> StreamDeployment::start(Coordinator& coordinator,
                                                                  MakePlans make_plans) {
  SHOAL_ASSIGN(plan::StreamPrediction first, make_plans(workers_left(coordinator)));
  std::unique_ptr<StreamDeployment> stream(
      new StreamDeployment(coordinator, std::move(make_plans), std::move(first)));
  SHOAL_ASSIGN(stream->round_, stream->deploy(stream->first_));
  coordinator.watch(stream.get(), [self = stream.get()] {
    const std::lock_guard lock(self->mutex_);
    ++self->losses_;
    self->lost_.notify_all();
  });
  return stream;
}

StreamDeployment::~StreamDeployment() { coordinator_.watch(this, nullptr); }

Result<StreamDeployment::RoundPtr> StreamDeployment::deploy(
    const plan::StreamPrediction& prediction) const {
  auto round = std::make_shared<Round>();
  for (const plan::ScheduledPlan& turn : prediction.turns) {
    SHOAL_ASSIGN(auto remote, coordinator_.deploy(turn));
    round->push_back(std::move(remote));
  }
  return RoundPtr(std::move(round));
}

Result<StreamDeployment::RoundPtr> StreamDeployment::make_round(const Workers& workers) const {
  if (workers.empty()) return Status(Code::kUnavailable, "no worker is left");
  SHOAL_ASSIGN(const plan::StreamPrediction prediction, make_plans_(workers));
  return deploy(prediction);
}

std::pair<StreamDeployment::RoundPtr, size_t> StreamDeployment::next_turn() {
  const std::lock_guard lock(mutex_);
  return {round_, next_++ % round_->size()};
}

Status StreamDeployment::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                             std::chrono::milliseconds timeout, const std::stop_token& cancel) {
  const auto deadline = net::after(timeout);
  const auto attempt = [&](const RoundPtr& round, size_t turn) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return (*round)[turn]->run(inputs, outputs, left, nullptr, cancel);
  };
  const auto [round, turn] = next_turn();
  const Status status = attempt(round, turn);
  if (status.code() != Code::kUnavailable) return status;
  SHOAL_TRY(replace(round, deadline));
  const auto [other, its_turn] = next_turn();
  return attempt(other, its_turn);
}

// A worker may report that it cannot reach another before the coordinator knows of the loss. Plans
// are then made for a worker that is gone, deploying them fails, and they are made again when its
// loss is reported. Lock order: replacing_, then mutex_.
Status StreamDeployment::replace(const RoundPtr& failed, net::Deadline deadline) {
  const std::lock_guard alone(replacing_);
  for (;;) {
    uint64_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      if (round_ != failed) return {};
      // Read before the workers are listed: a loss in between ends the wait at once.
      seen = losses_;
    }
    const Workers left = workers_left(coordinator_);
    Result<RoundPtr> round = make_round(left);
    if (round.ok()) {
      const std::lock_guard lock(mutex_);
      round_.swap(*round);  // the old plans are released by the last request that uses them
      next_ = 0;
      return {};
    }
    const bool may_change = round.status().code() == Code::kUnavailable && !left.empty();
    if (!may_change) return round.status();
    SHOAL_TRY(await_loss(seen, deadline, round.status()));
  }
}

Status StreamDeployment::await_loss(uint64_t seen, net::Deadline deadline, const Status& why) {
  std::unique_lock lock(mutex_);
  return lost_.wait_until(lock, deadline, [&] { return losses_ != seen; }) ? Status() : why;
}

}  // namespace shoal::cluster
