// The shell around Deployment, in virtual time. Work that a machine does later goes through
// later(), which drops it if the machine has died since and keeps it while the machine is stopped:
// a simulated SIGSTOP freezes everything in progress, as a real one does.
#include "shoal/cluster/chaos/simulated/sim_worker.h"

#include <algorithm>
#include <set>

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr Time kQuickestTask = 1ms, kSlowestTask = 5ms;
constexpr Time kQuickestCompile = 5ms, kSlowestCompile = 50ms;

}  // namespace

// Runs `what` on this machine's own time: not while it is stopped, and not after it died.
void SimWorker::later(Time delay, std::function<void()> what) {
  world_.clock.after(delay, [this, life = life_, what = std::move(what)] {
    if (life != life_ || !world_.network.is_alive(number_)) return;
    if (world_.network.is_stopped(number_)) {
      frozen_.push_back(what);
    } else {
      what();
    }
  });
}

void SimWorker::go_on() {
  world_.network.go_on(number_);
  for (const auto& what : std::exchange(frozen_, {})) what();
}

void SimWorker::kill() {
  world_.network.kill(number_);
  ++life_;
  busy_ = false;
  slowness_ = 1;
  worker_plans_.clear();
  frozen_.clear();
}

void SimWorker::deploy(const ConnectionPtr& by, size_t version, const cluster::Workers& set,
                       const cluster::DeployedPlan& deployed) {
  world_.reached(FaultPoint::kDeploying, number_);
  auto deployment = world_.scene.deployment(version, set, number_);
  SHOAL_CHECK(deployment.ok());
  auto worker_plan = std::make_shared<SimPlan>();
  worker_plan->coordinator = by;
  worker_plan->survives = deployed.scheduled.plan().survives > 0;
  worker_plan->deployment = *std::move(deployment);
  later(world_.random.between(kQuickestCompile, kSlowestCompile),
        [this, worker_plan, plan = deployed.id] {
          // The coordinator may be gone by the time that compiling is done.
          if (!worker_plan->coordinator->is_open(number_)) return;
          worker_plans_[plan] = worker_plan;
          connect_to_peers(*worker_plan, plan);
          say(*worker_plan, [ear = &ear_, from = number_, plan] { ear->ready(from, plan); });
          world_.reached(FaultPoint::kReady, number_);
        });
}

void SimWorker::connect_to_peers(SimPlan& worker_plan, uint64_t plan) {
  for (const cluster::WorkerTask& task : worker_plan.deployment->tasks()) {
    for (const cluster::SendOrder& order : task.sends) {
      if (order.to == plan::kCoordinator || worker_plan.peers.contains(order.to)) continue;
      connect_to(worker_plan, plan, order.to);
    }
  }
}

void SimWorker::connect_to(SimPlan& worker_plan, uint64_t plan, int peer) {
  const ConnectionPtr way = world_.network.connect(number_, peer);
  worker_plan.peers[peer] = way;
  if (way == nullptr) return;
  // The reader reports a broken connection: only it knows that pieces may be missing.
  SimWorker* reader = all_[static_cast<size_t>(peer)].get();
  way->when_closed(peer, [reader, plan, from = number_] {
    const auto it = reader->worker_plans_.find(plan);
    if (it == reader->worker_plans_.end()) return;
    reader->say(*it->second, [ear = &reader->ear_, at = reader->number_, plan, from] {
      ear->cut(at, plan, from);
    });
  });
}

void SimWorker::rejoin(uint64_t plan, int worker) {
  const auto it = worker_plans_.find(plan);
  if (it == worker_plans_.end()) return;
  SimPlan& worker_plan = *it->second;
  const auto way = worker_plan.peers.find(worker);
  const bool sends = way != worker_plan.peers.end();
  // A connection that still works is kept: pieces of other requests may be on it.
  if (sends && (way->second == nullptr || !way->second->is_open(number_))) {
    connect_to(worker_plan, plan, worker);
  }
  say(worker_plan, [ear = &ear_, from = number_, plan] { ear->ready(from, plan); });
}

void SimWorker::say(const SimPlan& worker_plan, std::function<void()> what) {
  world_.network.send(worker_plan.coordinator, number_,
                      std::move(what));  // a coordinator that is gone does not wait
}

void SimWorker::take(uint64_t plan, uint64_t attempt, const plan::Piece& piece,
                     const Tensor& elements) {
  const auto it = worker_plans_.find(plan);
  if (it == worker_plans_.end()) return;
  const Status status = it->second->deployment->put(attempt, piece, elements, now());
  // The worker is fine and only refuses the piece, so nobody is to blame (-1).
  if (!status.ok()) {
    say(*it->second,
        [ear = &ear_, from = number_, attempt, status] { ear->failed(from, attempt, status, -1); });
  }
  compute();
}

void SimWorker::forget(uint64_t plan, uint64_t attempt) {
  const auto it = worker_plans_.find(plan);
  if (it != worker_plans_.end()) it->second->deployment->cancel(attempt);
}

void SimWorker::release(uint64_t plan) {
  const auto it = worker_plans_.find(plan);
  if (it == worker_plans_.end()) return;
  for (const auto& [peer, connection] : it->second->peers) {
    if (connection != nullptr) world_.network.close(connection, number_);
  }
  worker_plans_.erase(it);
}

void SimWorker::coordinator_gone(const ConnectionPtr& by) {
  // The plans of a coordinator go with its connection; plans that it deployed by a later one stay.
  std::vector<uint64_t> its;
  for (const auto& [plan, worker_plan] : worker_plans_) {
    // Collected first: release() erases from the map that is walked here.
    if (worker_plan->coordinator == by) its.push_back(plan);
  }
  for (uint64_t plan : its) release(plan);
}

void SimWorker::compute() {
  // One task at a time, as WorkerPlans does, and the plan with the lowest number first.
  if (busy_) return;
  for (const auto& [plan, worker_plan] : worker_plans_) {
    std::optional<cluster::ReadyTask> task = worker_plan->deployment->take(now());
    if (!task) continue;
    busy_ = true;
    world_.reached(FaultPoint::kComputing, number_);
    const Time takes = slowness_ * world_.random.between(kQuickestTask, kSlowestTask);
    later(takes, [this, id = plan, ready = *std::move(task)] {
      busy_ = false;
      finish(id, ready);
      compute();
    });
    return;
  }
}

void SimWorker::finish(uint64_t plan, const cluster::ReadyTask& ready) {
  const auto it = worker_plans_.find(plan);
  if (it == worker_plans_.end()) return;
  const std::shared_ptr<SimPlan> worker_plan = it->second;
  const cluster::WorkerTask& task = worker_plan->deployment->tasks()[ready.task];
  std::vector<Tensor> outputs(task.outputs.size());
  SHOAL_CHECK(task.executable->run(ready.inputs, outputs, {}).ok());
  for (const cluster::SendOrder& order : task.sends) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const plan::Piece& made = task.outputs[i];
      const Region common = plan::intersection(made.region, order.piece.region);
      if (made.value != order.piece.value || common != order.piece.region) continue;
      send(*worker_plan, plan, ready.request, order,
           crop(outputs[i], plan::relative(order.piece.region, made.region)));
      break;
    }
  }
  static_cast<void>(worker_plan->deployment->finish(ready, outputs, now()));
  world_.reached(FaultPoint::kComputed, number_);
}

void SimWorker::send(SimPlan& worker_plan, uint64_t plan, uint64_t attempt,
                     const cluster::SendOrder& order, const Tensor& part) {
  if (order.to == plan::kCoordinator) {
    return say(worker_plan, [ear = &ear_, from = number_, attempt, piece = order.piece, part] {
      ear->data(from, attempt, piece, part);
    });
  }
  SimWorker* to = all_[static_cast<size_t>(order.to)].get();
  const ConnectionPtr& peer = worker_plan.peers[order.to];
  const bool sent = peer != nullptr && world_.network.send(peer, number_, [=, piece = order.piece] {
    to->world_.reached(FaultPoint::kPieceArrives, to->number_);
    to->take(plan, attempt, piece, part);
  });
  if (sent) return;
  // As SimPlan::fail_to_reach().
  if (!worker_plan.survives) worker_plan.deployment->cancel(attempt);
  say(worker_plan, [ear = &ear_, from = number_, attempt, unreached = order.to] {
    ear->failed(from, attempt, Status(Code::kUnavailable, "not reached"), unreached);
  });
}

}  // namespace shoal::chaos
