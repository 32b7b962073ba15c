// Faults in virtual time. A fault at a point waits until its worker has passed the point a random
// number of times, so that later requests are hit as well as the first.
#include "shoal/cluster/chaos/simulated/fault_injector.h"

namespace shoal::chaos {

using namespace std::chrono_literals;

FaultInjector::FaultInjector(World& world, std::vector<std::unique_ptr<SimWorker>>& workers,
                             FaultPlan& plan, int count, Time end)
    : world_(world), workers_(workers) {
  constexpr int64_t kMostPasses = 20;
  for (int i = 0; i < count; ++i) {
    const FaultEvent event = plan.next();
    if (event.at) {
      waiting_.push_back({event, world.random.between(0, kMostPasses)});
    } else {
      const Time when(static_cast<Time::rep>(event.moment * static_cast<double>(end.count())));
      world.clock.after(when, [this, event] { begin(event); });
    }
  }
  world.reached = [this](FaultPoint point, int worker) { reached(point, worker); };
}

void FaultInjector::reached(FaultPoint point, int worker) {
  for (Waiting& one : waiting_) {
    // A request is submitted by the coordinator, whichever worker the fault is for.
    const bool is_its_worker = worker == one.event.worker || point == FaultPoint::kSubmitted;
    if (point != one.event.at || !is_its_worker || one.passes-- != 0) continue;
    // As an event of its own: a fault between two events is possible, one in the middle of an event
    // is not.
    world_.clock.after(0ms, [this, event = one.event] { begin(event); });
  }
}

void FaultInjector::begin(const FaultEvent& event) {
  world_.note("fault", static_cast<int64_t>(event.fault), event.worker);
  for (const FaultAction& action : actions_of(event, static_cast<int>(workers_.size()))) {
    world_.clock.after(action.after, [this, action] { apply(action); });
  }
}

void FaultInjector::apply(const FaultAction& action) {
  using enum FaultAction::Kind;
  const auto worker = [&]() -> SimWorker& {
    return *workers_[static_cast<size_t>(action.machine)];
  };
  switch (action.kind) {
    case kKill:
      return worker().kill();
    case kRestart:
      return worker().restart();
    case kStop:
      return worker().stop();
    case kContinue:
      return worker().go_on();
    case kSlowDown:
      return worker().slow_down(10);
    case kSpeedUp:
      return worker().slow_down(1);
    case kBlock:
      return world_.network.block(action.machine, action.peer);
    case kUnblock:
      return world_.network.unblock(action.machine, action.peer);
    case kDelay:
      return world_.network.delay(action.machine, action.peer, action.delay);
    case kDisconnect:
    case kDamage:  // TLS notices, and closes
      return world_.network.cut(action.machine, action.peer);
  }
}

}  // namespace shoal::chaos
