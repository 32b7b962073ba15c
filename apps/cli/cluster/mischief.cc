#include "mischief.h"

#include <signal.h>

#include <thread>

#include "shoal/plan/plan.h"

namespace shoal::cli {
namespace {

using chaos::Fault;
using cluster::FaultPoint;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

}  // namespace

void Mischief::prepare(const Mishap& mishap) {
  if (!mishap.at) return;
  const bool anyone = mishap.at == FaultPoint::kSubmitted;
  arena_.breakpoint().set(anyone ? plan::kCoordinator : mishap.worker,
                          static_cast<int>(*mishap.at));
  // Who is gone is given its plans again.
  if (mishap.at == FaultPoint::kDeploying || mishap.at == FaultPoint::kReady) {
    arena_.faults().break_off(mishap.worker, plan::kCoordinator);
  }
}

Result<bool> Mischief::happen(const Mishap& mishap, std::chrono::duration<double> request,
                              const std::function<void()>& begins) {
  constexpr milliseconds kNoticed{50};  // what breaks, or broke unheard, is seen by then
  if (!mishap.at) std::this_thread::sleep_for(mishap.moment * request);
  const bool is_there = !mishap.at || lie_in_wait();
  begins();
  begin(mishap);
  arena_.breakpoint().release();
  SHOAL_TRY(end(mishap));
  if (mishap.what > Fault::kSlow) sleep(kNoticed);
  arena_.until_whole();
  return is_there;
}

// Until the worker, or a request, gets to the point. Not every worker gets to all in every plan:
// then it happens all the same.
bool Mischief::lie_in_wait() {
  constexpr std::chrono::duration<double> kLongest{1};
  const auto longest = std::chrono::duration_cast<Clock::duration>(kLongest * arena_.stretch());
  return arena_.breakpoint().await(Clock::now() + longest);
}

void Mischief::begin(const Mishap& mishap) {
  switch (mishap.what) {
    case Fault::kKill:
      return signal(mishap.worker, SIGKILL);
    case Fault::kStop:
    case Fault::kSlow:
      return signal(mishap.worker, SIGSTOP);
    case Fault::kDeaf:
    case Fault::kMute:
    case Fault::kPartition:
    case Fault::kFlapping:
      return partition(mishap, true);
    case Fault::kDelay:
      return delay(mishap, mishap.delay);
    case Fault::kDrop:
      return arena_.faults().break_off(mishap.worker, mishap.peer);
    case Fault::kCorrupt:
      return damage(mishap.worker, mishap.peer, mishap.comes_in);
  }
}

Status Mischief::end(const Mishap& mishap) {
  constexpr milliseconds kStop{800};  // longer than it takes to be noticed
  switch (mishap.what) {
    case Fault::kKill:
      return arena_.farm().restart(static_cast<size_t>(mishap.worker));
    case Fault::kStop:
      sleep(kStop);
      signal(mishap.worker, SIGCONT);
      break;
    case Fault::kSlow:
      slow_down(mishap.worker);
      break;
    case Fault::kDeaf:
    case Fault::kMute:
    case Fault::kPartition:
      sleep(mishap.lasts);
      partition(mishap, false);
      break;
    case Fault::kFlapping:
      flap(mishap);
      break;
    case Fault::kDelay:
      sleep(mishap.lasts);
      delay(mishap, milliseconds(0));
      break;
    case Fault::kDrop:
      break;
    case Fault::kCorrupt:
      until_damaged(mishap);
      break;
  }
  return {};
}

std::vector<int> Mischief::peers_of(const Mishap& mishap) const {
  if (mishap.peer != Mishap::kEverybody) return {mishap.peer};
  std::vector<int> peers;
  for (int peer = plan::kCoordinator; peer < std::ssize(arena_.names()); ++peer) {
    if (peer != mishap.worker) peers.push_back(peer);
  }
  return peers;
}

void Mischief::partition(const Mishap& mishap, bool on) {
  for (int peer : peers_of(mishap)) {
    if (mishap.what != Fault::kMute) arena_.faults().cut(peer, mishap.worker, on);
    if (mishap.what != Fault::kDeaf) arena_.faults().cut(mishap.worker, peer, on);
  }
}

// As in shoal/chaos: six times, each too short to be missed.
void Mischief::flap(const Mishap& mishap) {
  constexpr int kTimes = 6;
  constexpr milliseconds kPhase{150};
  for (int i = 0; i < kTimes; ++i) {
    if (i > 0) partition(mishap, true);
    sleep(kPhase);
    partition(mishap, false);
    sleep(kPhase);
  }
}

void Mischief::delay(const Mishap& mishap, milliseconds by) {
  for (int peer : peers_of(mishap)) {
    arena_.faults().delay(peer, mishap.worker, by);
    arena_.faults().delay(mishap.worker, peer, by);
  }
}

void Mischief::damage(int worker, int peer, bool comes_in) {
  arena_.faults().damage(comes_in ? peer : worker, comes_in ? worker : peer);
}

// Two workers that have nothing to say to each other are not connected; to the coordinator all are.
void Mischief::until_damaged(const Mishap& mishap) {
  constexpr milliseconds kBeats{400}, kStep{5};
  const int from = mishap.comes_in ? mishap.peer : mishap.worker;
  const int to = mishap.comes_in ? mishap.worker : mishap.peer;
  for (auto waited = kStep; waited < kBeats && arena_.faults().is_damaged(from, to);
       waited += kStep) {
    sleep(kStep);
  }
  if (arena_.faults().take_damage(from, to)) {
    damage(mishap.worker, plan::kCoordinator, mishap.comes_in);
    sleep(kBeats);
  }
}

void Mischief::slow_down(int worker) {
  for (int i = 0; i < 10; ++i) {
    signal(worker, SIGSTOP);
    sleep(milliseconds(90));
    signal(worker, SIGCONT);
    sleep(milliseconds(10));
  }
}

void Mischief::signal(int worker, int number) {
  arena_.farm().signal(static_cast<size_t>(worker), number);
}

// In the time of the world that is emulated.
void Mischief::sleep(milliseconds time) const {
  std::this_thread::sleep_for(time * arena_.stretch());
}

}  // namespace shoal::cli
