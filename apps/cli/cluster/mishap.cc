#include "mishap.h"

#include <algorithm>
#include <array>

#include "shoal/plan/plan.h"

namespace shoal::cli {
namespace {

using chaos::Fault;
using std::chrono::milliseconds;

// In shoal/chaos, too. Whoever is cut off for less than a third of a second is not missed.
constexpr int64_t kShortestMs = 1, kLongestMs = 1500, kLongestDelayMs = 100;

std::string name_of(int machine, const std::vector<std::string>& names) {
  if (machine == Mishap::kEverybody) return "all others";
  if (machine == plan::kCoordinator) return "the coordinator";
  return names[static_cast<size_t>(machine)];
}

}  // namespace

std::string kind_of(const Mishap& mishap) {
  switch (mishap.what) {
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

std::string describe(const Mishap& mishap, const std::vector<std::string>& names) {
  std::string text = name_of(mishap.worker, names) + " " + kind_of(mishap);
  const std::string peer = name_of(mishap.peer, names);
  const std::string lasts = ", " + std::to_string(mishap.lasts.count()) + " ms";
  switch (mishap.what) {
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
      text += " by " + std::to_string(mishap.delay.count()) + " ms" + lasts;
      break;
    case Fault::kCorrupt:
      text += mishap.comes_in ? ": bytes from " + peer : ": bytes to " + peer;
      break;
  }
  if (mishap.at)
    text += ", at " + std::string(cluster::kFaultPointNames[static_cast<size_t>(*mishap.at)]);
  return text;
}

Mishaps::Mishaps(const MishapCounts& counts, bool endless, std::string where, size_t workers,
                 uint64_t seed)
    : left_(counts),
      endless_(endless),
      where_(std::move(where)),
      workers_(static_cast<int>(workers)),
      random_(seed) {}

int64_t Mishaps::between(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
}

Mishap Mishaps::draw() {
  Mishap mishap;
  mishap.what = draw_fault(draw_kind());
  mishap.worker = static_cast<int>(between(0, workers_ - 1));
  mishap.at = draw_point();
  mishap.moment = std::uniform_real_distribution<double>(0, 1)(random_);
  const bool is_pair = mishap.what == Fault::kDrop || mishap.what == Fault::kCorrupt;
  const bool from_all = between(0, 1) == 0;
  const int peer = draw_peer(mishap.worker);
  mishap.peer = from_all && !is_pair ? Mishap::kEverybody : peer;
  mishap.comes_in = between(0, 1) == 0;
  mishap.lasts = milliseconds(between(kShortestMs, kLongestMs));
  mishap.delay = milliseconds(between(kShortestMs, kLongestDelayMs));
  return mishap;
}

// Of those that are left to do, or, where time ends it, of those that are wanted.
Mishaps::Kind Mishaps::draw_kind() {
  static constexpr std::array kKinds = {&MishapCounts::kills,      &MishapCounts::stops,
                                        &MishapCounts::slows,      &MishapCounts::partitions,
                                        &MishapCounts::delays,     &MishapCounts::breaks,
                                        &MishapCounts::corruptions};
  auto drawn = static_cast<size_t>(between(0, static_cast<int64_t>(left_.sum()) - 1));
  const auto* kind = kKinds.begin();
  while (drawn >= left_.*(*kind)) drawn -= left_.*(*kind++);
  if (!endless_) --(left_.*(*kind));
  return *kind;
}

Fault Mishaps::draw_fault(Kind kind) {
  if (kind == &MishapCounts::kills) return Fault::kKill;
  if (kind == &MishapCounts::stops) return Fault::kStop;
  if (kind == &MishapCounts::slows) return Fault::kSlow;
  if (kind == &MishapCounts::delays) return Fault::kDelay;
  if (kind == &MishapCounts::breaks) return Fault::kDrop;
  if (kind == &MishapCounts::corruptions) return Fault::kCorrupt;
  static constexpr std::array kPartitions = {Fault::kDeaf, Fault::kMute, Fault::kPartition,
                                             Fault::kFlapping};
  return kPartitions[static_cast<size_t>(between(0, std::ssize(kPartitions) - 1))];
}

std::optional<cluster::FaultPoint> Mishaps::draw_point() {
  const auto drawn = static_cast<cluster::FaultPoint>(between(0, cluster::kFaultPoints - 1));
  const bool at_a_moment = between(0, 1) == 0;
  const auto* named = std::ranges::find(cluster::kFaultPointNames, where_);
  if (named != cluster::kFaultPointNames.end()) {
    return static_cast<cluster::FaultPoint>(named - cluster::kFaultPointNames.begin());
  }
  return where_ == kAnyMoment || at_a_moment ? std::nullopt : std::optional(drawn);
}

// The coordinator, or another worker.
int Mishaps::draw_peer(int worker) {
  const auto peer = static_cast<int>(between(plan::kCoordinator, workers_ - 1));
  return peer == worker ? plan::kCoordinator : peer;
}

}  // namespace shoal::cli
