// Faults on processes: signals for kills and stops, shared memory for the network, and a breakpoint
// that holds a machine at a named point of a request while the fault is injected there.
#include "shoal/cluster/chaos/processes/fault_runner.h"

#include <signal.h>

#include <thread>

#include "shoal/plan/plan.h"

namespace shoal::chaos {
namespace {

using cluster::FaultPoint;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

}  // namespace

void FaultRunner::prepare(const FaultEvent& event) {
  if (!event.at) return;
  // A request is submitted by the coordinator; all else is done by the worker.
  const int machine = event.at == FaultPoint::kSubmitted ? plan::kCoordinator : event.worker;
  cluster_.breakpoint().arm(machine, static_cast<int>(*event.at));
  // To meet a worker while it is given plans, its connection is broken first: it then comes back
  // and is given its plans again.
  if (event.at == FaultPoint::kDeploying || event.at == FaultPoint::kReady) {
    cluster_.network().break_off(event.worker, plan::kCoordinator);
  }
}

Result<bool> FaultRunner::run(const FaultEvent& event, std::chrono::duration<double> request,
                              const std::function<void()>& began) {
  constexpr milliseconds kNoticed{50};  // a broken connection is seen by then
  if (!event.at) std::this_thread::sleep_for(event.moment * request * cluster_.dilation());
  const bool is_there = !event.at || wait_for_point();
  began();
  const auto actions = actions_of(event, static_cast<int>(cluster_.names().size()));
  milliseconds passed{0};
  for (const FaultAction& action : actions) {
    if (action.after > passed) {
      // The machine may go on once the first actions are in place; later ones meet it in motion.
      cluster_.breakpoint().release();
      wait(action.after - passed);
      passed = action.after;
    }
    SHOAL_TRY(apply(action));
  }
  cluster_.breakpoint().release();
  if (event.fault == Fault::kCorrupt) wait_until_damaged(actions.front(), event.worker);
  if (event.fault > Fault::kSlow) sleep(kNoticed);
  cluster_.settle();
  return is_there;
}

// Not every worker reaches every point in every plan, so the wait is bounded.
bool FaultRunner::wait_for_point() {
  constexpr std::chrono::duration<double> kLongest{1};
  const auto longest = std::chrono::duration_cast<Clock::duration>(kLongest * cluster_.dilation());
  return cluster_.breakpoint().wait_hit(Clock::now() + longest);
}

Status FaultRunner::apply(const FaultAction& action) {
  using enum FaultAction::Kind;
  const auto worker = static_cast<size_t>(action.machine);
  switch (action.kind) {
    case kKill:
      cluster_.workers().send_signal(worker, SIGKILL);
      break;
    case kRestart:
      return cluster_.workers().restart(worker);
    case kStop:
      cluster_.workers().send_signal(worker, SIGSTOP);
      break;
    case kContinue:
      cluster_.workers().send_signal(worker, SIGCONT);
      break;
    case kSlowDown:
      slowed_ = worker;
      break;
    case kSpeedUp:
      slowed_.reset();
      break;
    case kBlock:
    case kUnblock:
      cluster_.network().cut(action.machine, action.peer, action.kind == kBlock);
      break;
    case kDelay:
      cluster_.network().delay(action.machine, action.peer, action.delay);
      break;
    case kDisconnect:
      cluster_.network().break_off(action.machine, action.peer);
      break;
    case kDamage:
      cluster_.network().damage(action.machine, action.peer);
      break;
  }
  return {};
}

// A slow worker is stopped for nine tenths of the time, in steps too short for it to be missed.
void FaultRunner::wait(milliseconds time) {
  constexpr milliseconds kStopped{90}, kRunning{10};
  if (!slowed_) return sleep(time);
  for (milliseconds passed{0}; passed < time; passed += kStopped + kRunning) {
    cluster_.workers().send_signal(*slowed_, SIGSTOP);
    sleep(kStopped);
    cluster_.workers().send_signal(*slowed_, SIGCONT);
    sleep(kRunning);
  }
}

// The damage takes effect with the next bytes that pass. Workers that exchange nothing are not
// connected; after a while the damage is moved to the way to the coordinator, to which all are.
void FaultRunner::wait_until_damaged(const FaultAction& damage, int worker) {
  constexpr milliseconds kBeats{400}, kStep{5};
  emulate::SharedNetworkFaults& network = cluster_.network();
  for (auto waited = kStep; waited < kBeats && network.is_damaged(damage.machine, damage.peer);
       waited += kStep) {
    sleep(kStep);
  }
  if (!network.take_damage(damage.machine, damage.peer)) return;
  const bool inbound = damage.peer == worker;
  network.damage(inbound ? plan::kCoordinator : worker, inbound ? worker : plan::kCoordinator);
  sleep(kBeats);
}

// In the time of the emulated world.
void FaultRunner::sleep(milliseconds time) const {
  std::this_thread::sleep_for(time * cluster_.dilation());
}

}  // namespace shoal::chaos
