// FaultPlan: the kinds of faults, how they are drawn from a seed, and the actions of each over
// time. Processes carry them out (processes/chaos_run.cc).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/cluster/messages/fault_point.h"

namespace shoal::chaos {

enum class Fault : uint8_t {
  kKill,       // as by kill -9; it is started again later
  kStop,       // as by SIGSTOP, and SIGCONT later
  kSlow,       // gets a tenth of a core's time
  kDeaf,       // messages to it do not arrive
  kMute,       // messages from it do not arrive
  kPartition,  // neither
  kFlapping,   // neither, on and off
  kDelay,      // everything arrives late
  kDrop,       // a connection breaks
  kCorrupt,    // bytes are damaged: the connection is closed
};

std::string name_of(Fault fault);  // "killed"

// How many faults of each kind are drawn, or in which proportion.
struct FaultCounts {
  size_t kills = 0;
  size_t stops = 0;
  size_t slows = 0;
  size_t partitions = 0;  // kDeaf, kMute, kPartition and kFlapping, each as likely
  size_t delays = 0;
  size_t drops = 0;
  size_t corruptions = 0;

  // The default: kills, or all kinds alike if endless.
  static FaultCounts usual(bool endless);
  size_t sum() const { return kills + stops + slows + partitions + delays + drops + corruptions; }
};

// One fault: its kind, its worker, its time and its duration.
struct FaultEvent {
  static constexpr int kAllPeers = -2;

  Fault fault = Fault::kKill;
  int worker = 0;
  std::optional<cluster::FaultPoint> at;  // when the worker gets there; none: at `moment`
  double moment = 0;                      // as a share of the time in which it may happen
  int peer = kAllPeers;  // the other end of ways that fail: a worker, plan::kCoordinator, or all
  bool inbound = false;  // kCorrupt: of bytes to the worker, not from it
  std::chrono::milliseconds duration{0};  // until it is over; kFlapping and others have their own
  std::chrono::milliseconds delay{0};     // kDelay: of every message
};

// "worker-3 cut off from worker-1, 700 ms, at computing"
std::string describe(const FaultEvent& event, const std::vector<std::string>& names);

// An action on a machine, or on the link between two.
struct FaultAction {
  enum class Kind : uint8_t {
    kKill,        // `machine`
    kRestart,     //
    kStop,        //
    kContinue,    //
    kSlowDown,    // to a tenth of its speed
    kSpeedUp,     // to its own
    kBlock,       // the way from `machine` to `peer`
    kUnblock,     //
    kDelay,       // by `delay`
    kDisconnect,  // all connections between the two break
    kDamage,      // the next bytes
  };

  std::chrono::milliseconds after{0};  // the beginning of the fault
  Kind kind = Kind::kKill;
  int machine = 0;  // a worker, or plan::kCoordinator
  int peer = 0;
  std::chrono::milliseconds delay{0};

  friend bool operator==(const FaultAction&, const FaultAction&) = default;
};

// All actions of this fault among `workers` workers, in order of time. After the last one, the
// cluster is as it was before.
std::vector<FaultAction> actions_of(const FaultEvent& event, int workers);

struct FaultPlanOptions {
  FaultCounts counts;
  bool endless = false;  // counts are proportions: there is no end to the plan
  // The place in a request: kAnywhere, kAnyMoment, or a point's name
  // (cluster/messages/fault_point.h).
  std::string where = "anywhere";
  int workers = 1;
  uint64_t seed = 1;
  // From a kill to the restart, and of a stop or slow-down. None: drawn like other durations.
  std::optional<std::chrono::milliseconds> down = {}, pause = {};
};

// At a point or at any moment, each as likely; at any moment only.
inline constexpr const char* kAnywhere = "anywhere";
inline constexpr const char* kAnyMoment = "any-moment";

// The same options give the same faults, on every machine.
class FaultPlan {
 public:
  // REQUIRES: counts.sum() > 0, workers > 0
  explicit FaultPlan(FaultPlanOptions options);

  // Draws the next fault. REQUIRES: endless, or called no more than counts.sum() times
  FaultEvent next();

 private:
  using Kind = size_t FaultCounts::*;

  Kind draw_kind();
  Fault draw_fault(Kind kind);
  std::optional<cluster::FaultPoint> draw_point();
  int draw_peer(int worker);
  std::chrono::milliseconds draw_duration(Fault fault);
  int64_t between(int64_t least, int64_t most);

  const FaultPlanOptions options_;
  FaultCounts left_;
  const RandomStream random_;
  uint64_t draws_ = 0;
};

}  // namespace shoal::chaos
