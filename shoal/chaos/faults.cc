#include "shoal/chaos/faults.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr Time kShortest = 1ms, kLongest = 1500ms;

}  // namespace

FaultPlan::FaultPlan(World& world, std::vector<std::unique_ptr<SimWorker>>& workers, int count,
                     Time end)
    : world_(world), workers_(workers) {
  for (int i = 0; i < count; ++i) {
    const auto fault = static_cast<Fault>(world.random.between(0, kFaults - 1));
    const Time lasts = world.random.between(kShortest, kLongest);
    if (world.random.between(0, 1) == 0) {
      const auto point = static_cast<FaultPoint>(world.random.between(0, kFaultPoints - 1));
      triggers_.push_back({point, world.random.between(0, 60), fault, lasts});
      continue;
    }
    const auto worker = static_cast<int>(world.random.between(0, std::ssize(workers) - 1));
    const Time when = world.random.between(0ms, end);
    world.clock.after(when, [this, fault, worker, lasts] { happen(fault, worker, lasts); });
  }
  world.reached = [this](FaultPoint point, int worker) { reached(point, worker); };
}

void FaultPlan::reached(FaultPoint point, int worker) {
  for (Trigger& trigger : triggers_) {
    if (trigger.point != point || trigger.countdown-- != 0) continue;
    // Not in the middle of what is being done: a processor ends its instruction, too.
    world_.clock.after(0ms,
                       [this, trigger, worker] { happen(trigger.fault, worker, trigger.lasts); });
  }
}

void FaultPlan::happen(Fault fault, int worker, Time lasts) {
  world_.note("fault", static_cast<int64_t>(fault), worker);
  SimWorker* const it = workers_[static_cast<size_t>(worker)].get();
  switch (fault) {
    case Fault::kKill:
      it->kill();
      return world_.clock.after(lasts, [it] { it->restart(); });
    case Fault::kStop:
      it->stop();
      return world_.clock.after(lasts, [it] { it->go_on(); });
    case Fault::kSlow:
      it->slow_down(10);
      return world_.clock.after(lasts, [it] { it->slow_down(1); });
    case Fault::kDeaf:
      return partition(worker, true, false, lasts);
    case Fault::kMute:
      return partition(worker, false, true, lasts);
    case Fault::kPartition:
      return partition(worker, true, true, lasts);
    case Fault::kFlapping:
      return flap(worker, 6);
    case Fault::kDelay:
      world_.network.delay(std::min(lasts, Time(100ms)));
      return world_.clock.after(lasts, [this] { world_.network.delay(0ms); });
    case Fault::kDrop:
    case Fault::kCorrupt:
      return world_.network.cut(peer_of(worker), worker);
  }
}

// The coordinator, or another worker.
int FaultPlan::peer_of(int worker) {
  const auto peer = static_cast<int>(world_.random.between(kCoordinator, std::ssize(workers_) - 1));
  return peer == worker ? kCoordinator : peer;
}

void FaultPlan::flap(int worker, int times) {
  constexpr Time kPhase = 150ms;
  if (times == 0) return;
  partition(worker, true, true, kPhase);
  world_.clock.after(2 * kPhase, [this, worker, times] { flap(worker, times - 1); });
}

// From one other machine, or from all.
void FaultPlan::partition(int worker, bool to_it, bool from_it, Time lasts) {
  const bool all = world_.random.between(0, 1) == 0;
  const int peer = peer_of(worker);
  for (int other = kCoordinator; other < std::ssize(workers_); ++other) {
    if (other == worker || (!all && other != peer)) continue;
    if (to_it) world_.network.block(other, worker);
    if (from_it) world_.network.block(worker, other);
    world_.clock.after(lasts, [this, other, worker] {
      world_.network.unblock(other, worker);
      world_.network.unblock(worker, other);
    });
  }
}

}  // namespace shoal::chaos
