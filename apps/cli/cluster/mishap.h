// Mishaps: what happens to the workers of a trial, drawn from its seed: what, to whom, at which
// point of a request, and for how long.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shoal/chaos/fault.h"
#include "shoal/cluster/fault_point.h"

namespace shoal::cli {

// How many of each kind: of these, or, where time ends the trial, in this proportion.
struct MishapCounts {
  size_t kills = 0;        // as by kill -9; the worker is started again
  size_t stops = 0;        // as by SIGSTOP, longer than it takes to be noticed
  size_t slows = 0;        // a tenth of a core's time, for a while
  size_t partitions = 0;   // one way, both ways or on and off; from one machine or from all
  size_t delays = 0;       // of all that comes and goes, up to 100 ms
  size_t breaks = 0;       // of the connections to another machine
  size_t corruptions = 0;  // of bytes below TLS

  size_t sum() const { return kills + stops + slows + partitions + delays + breaks + corruptions; }
};

// Where in a request: at any point or moment of it, at any moment, or at a point.
inline constexpr const char* kAnywhere = "anywhere";
inline constexpr const char* kAnyMoment = "any-moment";

struct Mishap {
  static constexpr int kEverybody = -2;

  chaos::Fault what = chaos::Fault::kKill;
  int worker = 0;
  std::optional<cluster::FaultPoint> at;  // none: at a moment, this share of a request's time
  double moment = 0;
  int peer = kEverybody;  // whom it has to do with: a worker, plan::kCoordinator, or all
  bool comes_in = false;  // which way bytes are damaged
  std::chrono::milliseconds lasts{0}, delay{0};
};

std::string kind_of(const Mishap& mishap);  // "killed"
std::string describe(const Mishap& mishap, const std::vector<std::string>& names);

class Mishaps {
 public:
  // Where: a point's name, or one of those above.
  Mishaps(const MishapCounts& counts, bool endless, std::string where, size_t workers,
          uint64_t seed);
  Mishap draw();

 private:
  using Kind = size_t MishapCounts::*;

  Kind draw_kind();
  chaos::Fault draw_fault(Kind kind);
  std::optional<cluster::FaultPoint> draw_point();
  int draw_peer(int worker);
  int64_t between(int64_t least, int64_t most);

  MishapCounts left_;
  const bool endless_;
  const std::string where_;
  const int workers_;
  std::mt19937_64 random_;
};

}  // namespace shoal::cli
