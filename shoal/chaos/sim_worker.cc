#include "shoal/chaos/sim_worker.h"

#include <algorithm>
#include <set>

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr Time kQuickestTask = 1ms, kSlowestTask = 5ms;
constexpr Time kQuickestCompile = 5ms, kSlowestCompile = 50ms;

}  // namespace

// On this machine's own time: not while it is stopped, not after it died.
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
  duties_.clear();
  frozen_.clear();
}

void SimWorker::deploy(const ConnectionPtr& by, size_t version, const cluster::Workers& set,
                       const cluster::Course& course) {
  world_.reached(Point::kDeploying, number_);
  auto deployment = world_.scene.deployment(version, set, number_);
  SHOAL_CHECK(deployment.ok());
  auto duty = std::make_shared<Duty>();
  duty->coordinator = by;
  duty->survives = course.plan.survives > 0;
  duty->deployment = *std::move(deployment);
  later(world_.random.between(kQuickestCompile, kSlowestCompile), [this, duty, plan = course.id] {
    if (!duty->coordinator->is_open(number_)) return;
    duties_[plan] = duty;
    connect_to_peers(*duty, plan);
    say(*duty, [ear = &ear_, from = number_, plan] { ear->ready(from, plan); });
    world_.reached(Point::kReady, number_);
  });
}

void SimWorker::connect_to_peers(Duty& duty, uint64_t plan) {
  for (const cluster::WorkerTask& task : duty.deployment->tasks()) {
    for (const cluster::SendOrder& order : task.sends) {
      if (order.to == plan::kCoordinator || duty.peers.contains(order.to)) continue;
      connect_to(duty, plan, order.to);
    }
  }
}

void SimWorker::connect_to(Duty& duty, uint64_t plan, int peer) {
  const ConnectionPtr way = world_.network.connect(number_, peer);
  duty.peers[peer] = way;
  if (way == nullptr) return;
  // Who reads from here says so when it cannot any more.
  SimWorker* reader = all_[static_cast<size_t>(peer)].get();
  way->when_closed(peer, [reader, plan, from = number_] {
    const auto it = reader->duties_.find(plan);
    if (it == reader->duties_.end()) return;
    reader->say(*it->second, [ear = &reader->ear_, at = reader->number_, plan, from] {
      ear->cut(at, plan, from);
    });
  });
}

void SimWorker::rejoin(uint64_t plan, int worker) {
  const auto it = duties_.find(plan);
  if (it == duties_.end()) return;
  Duty& duty = *it->second;
  const auto way = duty.peers.find(worker);
  const bool sends = way != duty.peers.end();
  if (sends && (way->second == nullptr || !way->second->is_open(number_))) {
    connect_to(duty, plan, worker);
  }
  say(duty, [ear = &ear_, from = number_, plan] { ear->ready(from, plan); });
}

void SimWorker::say(const Duty& duty, std::function<void()> what) {
  world_.network.send(duty.coordinator, number_, std::move(what));  // gone? then nobody waits
}

void SimWorker::take(uint64_t plan, uint64_t attempt, const plan::Piece& piece,
                     const Tensor& elements) {
  const auto it = duties_.find(plan);
  if (it == duties_.end()) return;
  const Status status = it->second->deployment->put(attempt, piece, elements, now());
  if (!status.ok()) {
    say(*it->second,
        [ear = &ear_, from = number_, attempt, status] { ear->failed(from, attempt, status, -1); });
  }
  compute();
}

void SimWorker::forget(uint64_t plan, uint64_t attempt) {
  const auto it = duties_.find(plan);
  if (it != duties_.end()) it->second->deployment->cancel(attempt);
}

void SimWorker::release(uint64_t plan) {
  const auto it = duties_.find(plan);
  if (it == duties_.end()) return;
  for (const auto& [peer, connection] : it->second->peers) {
    if (connection != nullptr) world_.network.close(connection, number_);
  }
  duties_.erase(it);
}

void SimWorker::coordinator_gone(const ConnectionPtr& by) {
  std::vector<uint64_t> its;
  for (const auto& [plan, duty] : duties_) {
    if (duty->coordinator == by) its.push_back(plan);
  }
  for (uint64_t plan : its) release(plan);
}

void SimWorker::compute() {
  if (busy_) return;
  for (const auto& [plan, duty] : duties_) {
    std::optional<cluster::ReadyTask> task = duty->deployment->take(now());
    if (!task) continue;
    busy_ = true;
    world_.reached(Point::kComputing, number_);
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
  const auto it = duties_.find(plan);
  if (it == duties_.end()) return;
  const std::shared_ptr<Duty> duty = it->second;
  const cluster::WorkerTask& task = duty->deployment->tasks()[ready.task];
  std::vector<Tensor> outputs(task.outputs.size());
  SHOAL_CHECK(task.executable->run(ready.inputs, outputs, nullptr).ok());
  for (const cluster::SendOrder& order : task.sends) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const plan::Piece& made = task.outputs[i];
      const Region common = plan::intersection(made.region, order.piece.region);
      if (made.value != order.piece.value || common != order.piece.region) continue;
      send(*duty, plan, ready.request, order,
           crop(outputs[i], plan::relative(order.piece.region, made.region)));
      break;
    }
  }
  duty->deployment->finish(ready, outputs, now());
  world_.reached(Point::kComputed, number_);
}

void SimWorker::send(Duty& duty, uint64_t plan, uint64_t attempt, const cluster::SendOrder& order,
                     const Tensor& part) {
  if (order.to == plan::kCoordinator) {
    return say(duty, [ear = &ear_, from = number_, attempt, piece = order.piece, part] {
      ear->data(from, attempt, piece, part);
    });
  }
  SimWorker* to = all_[static_cast<size_t>(order.to)].get();
  const ConnectionPtr& peer = duty.peers[order.to];
  const bool sent = peer != nullptr && world_.network.send(peer, number_, [=, piece = order.piece] {
    to->world_.reached(Point::kPieceArrives, to->number_);
    to->take(plan, attempt, piece, part);
  });
  if (sent) return;
  if (!duty.survives) duty.deployment->cancel(attempt);
  say(duty, [ear = &ear_, from = number_, attempt, unreached = order.to] {
    ear->failed(from, attempt, Status(Code::kUnavailable, "not reached"), unreached);
  });
}

}  // namespace shoal::chaos
