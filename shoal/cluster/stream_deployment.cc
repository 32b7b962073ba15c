// Plans for throughput, replaced as a whole after a loss. The first request that fails has plans
// made for the workers that are left, by a thread of the deployment; it and others wait for them
// until their deadlines, and are then tried once more. No standby plans are kept: a round may have
// hundreds of turns, and all workers are in use.
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
    self->changed_.notify_all();
  });
  return stream;
}

StreamDeployment::~StreamDeployment() {
  coordinator_.watch(this, nullptr);
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

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

Status StreamDeployment::replace(const RoundPtr& failed, net::Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (round_ != failed) return {};
  if (replaced_ != failed.get()) {
    replaced_ = failed.get();
    replacer_.post([this, failed] { make_replacement(failed); });
  }
  const auto is_done = [&] { return replaced_ != failed.get(); };
  if (!changed_.wait_until(lock, deadline, is_done)) {
    return Status(Code::kDeadline, "no plan for the workers that are left in time");
  }
  return round_ != failed ? Status() : replacement_;
}

// Plans are made once for all requests that failed, and go on being made when these are over.
void StreamDeployment::make_replacement(const RoundPtr& failed) {
  Result<RoundPtr> round = await_replacement();
  const std::lock_guard lock(mutex_);
  replaced_ = nullptr;
  replacement_ = round.status();
  changed_.notify_all();
  if (!round.ok() || round_ != failed) return;
  round_.swap(*round);  // the old plans are released by the last request that uses them
  next_ = 0;
}

// A worker may report that it cannot reach another before the coordinator knows of the loss. Plans
// are then made for a worker that is gone, deploying them fails, and they are made again when its
// loss is reported.
Result<StreamDeployment::RoundPtr> StreamDeployment::await_replacement() {
  constexpr std::chrono::seconds kLongest{10};  // a loss is noticed within half a second
  for (;;) {
    std::unique_lock lock(mutex_);
    // Read before the workers are listed: a loss in between ends the wait at once.
    const uint64_t seen = losses_;
    lock.unlock();
    const Workers left = workers_left(coordinator_);
    Result<RoundPtr> round = make_round(left);
    const bool may_change = round.status().code() == Code::kUnavailable && !left.empty();
    if (!may_change) return round;
    lock.lock();
    const auto has_changed = [&] { return over_ || losses_ != seen; };
    if (!changed_.wait_for(lock, kLongest, has_changed) || over_) return round;
  }
}

}  // namespace shoal::cluster
