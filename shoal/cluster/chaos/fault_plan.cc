// Faults drawn from a seed, and their actions. A fault is a value without state; actions_of() turns
// it into a script of primitive actions that ends by undoing all of them, so that the next fault
// meets a healthy cluster.
#include "shoal/cluster/chaos/fault_plan.h"

#include <algorithm>
#include <array>

#include "shoal/plan/plan.h"

namespace shoal::chaos {
namespace {

using std::chrono::milliseconds;
using enum FaultAction::Kind;

// Durations lie on both sides of the heartbeat's timeout: a machine that is cut off for less than a
// third of a second is not missed.
constexpr milliseconds kShortest{1}, kLongest{1500}, kLongestDelay{100};

std::string name_of(int machine, const std::vector<std::string>& names) {
  if (machine == FaultEvent::kAllPeers) return "all others";
  if (machine == plan::kCoordinator) return "the coordinator";
  return names[static_cast<size_t>(machine)];
}

std::vector<int> peers_of(const FaultEvent& event, int workers) {
  if (event.peer != FaultEvent::kAllPeers) return {event.peer};
  std::vector<int> peers;
  for (int peer = plan::kCoordinator; peer < workers; ++peer) {
    if (peer != event.worker) peers.push_back(peer);
  }
  return peers;
}

// Collects the actions of one fault.
class Script {
 public:
  Script(const FaultEvent& event, int workers) : event_(event), peers_(peers_of(event, workers)) {}

  std::vector<FaultAction> run() {
    switch (event_.fault) {
      case Fault::kKill:
        return begin_and_end(kKill, kRestart);
      case Fault::kStop:
        return begin_and_end(kStop, kContinue);
      case Fault::kSlow:
        return begin_and_end(kSlowDown, kSpeedUp);
      case Fault::kDeaf:
      case Fault::kMute:
      case Fault::kPartition:
        partition(kBlock, milliseconds(0));
        partition(kUnblock, event_.duration);
        break;
      case Fault::kFlapping:
        flap();
        break;
      case Fault::kDelay:
        delay_all(milliseconds(0), event_.delay);
        delay_all(event_.duration, milliseconds(0));
        break;
      case Fault::kDrop:
        add({.kind = kDisconnect, .machine = event_.worker, .peer = event_.peer});
        break;
      case Fault::kCorrupt:
        add({.kind = kDamage,
             .machine = event_.inbound ? event_.peer : event_.worker,
             .peer = event_.inbound ? event_.worker : event_.peer});
        break;
    }
    return std::move(actions_);
  }

 private:
  void add(const FaultAction& action) { actions_.push_back(action); }

  std::vector<FaultAction> begin_and_end(FaultAction::Kind begin, FaultAction::Kind end) {
    add({.kind = begin, .machine = event_.worker});
    add({.after = event_.duration, .kind = end, .machine = event_.worker});
    return std::move(actions_);
  }

  // A way is one direction: deaf machines still speak, and mute ones still hear.
  void partition(FaultAction::Kind kind, milliseconds after) {
    for (int peer : peers_) {
      if (event_.fault != Fault::kMute) add({after, kind, peer, event_.worker});
      if (event_.fault != Fault::kDeaf) add({after, kind, event_.worker, peer});
    }
  }

  // Six short partitions, each too short for the worker to be missed.
  void flap() {
    constexpr int kTimes = 6;
    constexpr milliseconds kPhase{150};
    for (int i = 0; i < kTimes; ++i) {
      partition(kBlock, 2 * i * kPhase);
      partition(kUnblock, (2 * i + 1) * kPhase);
    }
  }

  void delay_all(milliseconds after, milliseconds by) {
    for (int peer : peers_) {
      add({after, FaultAction::Kind::kDelay, peer, event_.worker, by});
      add({after, FaultAction::Kind::kDelay, event_.worker, peer, by});
    }
  }

  const FaultEvent& event_;
  const std::vector<int> peers_;
  std::vector<FaultAction> actions_;
};

}  // namespace

std::string name_of(Fault fault) {
  switch (fault) {
    case Fault::kKill:
      return "killed";
    case Fault::kStop:
      return "stopped";
    case Fault::kSlow:
      return "slowed down";
    case Fault::kDeaf:
      return "deaf";
    case Fault::kMute:
      return "mute";
    case Fault::kPartition:
      return "cut off";
    case Fault::kFlapping:
      return "cut off on and off";
    case Fault::kDelay:
      return "delayed";
    case Fault::kDrop:
      return "disconnected";
    case Fault::kCorrupt:
      return "damaged";
  }
  return "";
}

std::string describe(const FaultEvent& event, const std::vector<std::string>& names) {
  std::string text = name_of(event.worker, names) + " " + name_of(event.fault);
  const std::string peer = name_of(event.peer, names);
  const std::string lasts = ", " + std::to_string(event.duration.count()) + " ms";
  switch (event.fault) {
    case Fault::kKill:
    case Fault::kStop:
    case Fault::kSlow:
      break;
    case Fault::kDeaf:
    case Fault::kMute:
      text += " to " + peer + lasts;
      break;
    case Fault::kPartition:
      text += " from " + peer + lasts;
      break;
    case Fault::kFlapping:
    case Fault::kDrop:
      text += " from " + peer;
      break;
    case Fault::kDelay:
      text += " by " + std::to_string(event.delay.count()) + " ms" + lasts;
      break;
    case Fault::kCorrupt:
      text += event.inbound ? ": bytes from " + peer : ": bytes to " + peer;
      break;
  }
  if (event.at) {
    text += ", at " + std::string(cluster::kFaultPointNames[static_cast<size_t>(*event.at)]);
  }
  return text;
}

std::vector<FaultAction> actions_of(const FaultEvent& event, int workers) {
  return Script(event, workers).run();
}

FaultCounts FaultCounts::usual(bool endless) {
  if (endless) return {1, 1, 1, 1, 1, 1, 1};
  return {.kills = 10};
}

FaultPlan::FaultPlan(FaultPlanOptions options)
    : options_(std::move(options)), left_(options_.counts), random_(options_.seed, 1) {
  SHOAL_CHECK(left_.sum() > 0 && options_.workers > 0);
}

int64_t FaultPlan::between(int64_t least, int64_t most) {
  return least +
         static_cast<int64_t>(random_.below(static_cast<uint64_t>(most - least + 1), draws_++));
}

// Every fault takes the same number of draws, used or not. An option that fixes one property
// therefore leaves all other properties of all faults as they were.
FaultEvent FaultPlan::next() {
  constexpr int64_t kMoments = 1'000'000;
  FaultEvent event;
  event.fault = draw_fault(draw_kind());
  event.worker = static_cast<int>(between(0, options_.workers - 1));
  event.at = draw_point();
  event.moment = static_cast<double>(between(0, kMoments - 1)) / kMoments;
  // A connection has two ends, so these faults need one peer; others may be between all.
  const bool is_pair = event.fault == Fault::kDrop || event.fault == Fault::kCorrupt;
  const bool from_all = between(0, 1) == 0;
  const int peer = draw_peer(event.worker);
  event.peer = from_all && !is_pair ? FaultEvent::kAllPeers : peer;
  event.inbound = between(0, 1) == 0;
  event.duration = draw_duration(event.fault);
  event.delay = milliseconds(between(kShortest.count(), kLongestDelay.count()));
  return event;
}

// Draws from the faults that are left, or, in an endless plan, in proportion to the counts.
FaultPlan::Kind FaultPlan::draw_kind() {
  static constexpr std::array kKinds = {
      &FaultCounts::kills,  &FaultCounts::stops, &FaultCounts::slows,      &FaultCounts::partitions,
      &FaultCounts::delays, &FaultCounts::drops, &FaultCounts::corruptions};
  SHOAL_CHECK(left_.sum() > 0);
  auto drawn = static_cast<size_t>(between(0, static_cast<int64_t>(left_.sum()) - 1));
  const auto* kind = kKinds.begin();
  // Drawing without replacement, weighted by the counts that are left.
  while (drawn >= left_.*(*kind)) drawn -= left_.*(*kind++);
  if (!options_.endless) --(left_.*(*kind));
  return *kind;
}

Fault FaultPlan::draw_fault(Kind kind) {
  static constexpr std::array kPartitions = {Fault::kDeaf, Fault::kMute, Fault::kPartition,
                                             Fault::kFlapping};
  const auto drawn = static_cast<size_t>(between(0, std::ssize(kPartitions) - 1));
  if (kind == &FaultCounts::kills) return Fault::kKill;
  if (kind == &FaultCounts::stops) return Fault::kStop;
  if (kind == &FaultCounts::slows) return Fault::kSlow;
  if (kind == &FaultCounts::delays) return Fault::kDelay;
  if (kind == &FaultCounts::drops) return Fault::kDrop;
  if (kind == &FaultCounts::corruptions) return Fault::kCorrupt;
  return kPartitions[drawn];
}

std::optional<cluster::FaultPoint> FaultPlan::draw_point() {
  const auto drawn = static_cast<cluster::FaultPoint>(between(0, cluster::kFaultPoints - 1));
  const bool at_a_moment = between(0, 1) == 0;
  const auto* named = std::ranges::find(cluster::kFaultPointNames, options_.where);
  if (named != cluster::kFaultPointNames.end()) {
    return static_cast<cluster::FaultPoint>(named - cluster::kFaultPointNames.begin());
  }
  return options_.where == kAnyMoment || at_a_moment ? std::nullopt : std::optional(drawn);
}

// The coordinator, or another worker.
int FaultPlan::draw_peer(int worker) {
  const auto peer = static_cast<int>(between(plan::kCoordinator, options_.workers - 1));
  // A worker has no way to itself. The coordinator is thus twice as likely as any other peer.
  return peer == worker ? plan::kCoordinator : peer;
}

milliseconds FaultPlan::draw_duration(Fault fault) {
  const milliseconds drawn(between(kShortest.count(), kLongest.count()));
  if (fault == Fault::kKill) return options_.down.value_or(drawn);
  const bool is_paused = fault == Fault::kStop || fault == Fault::kSlow;
  return is_paused ? options_.pause.value_or(drawn) : drawn;
}

}  // namespace shoal::chaos
