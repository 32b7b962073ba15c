// Placement: which machine decodes, gates, looks at and tracks the frames of each camera. Many
// cameras on a few machines are placed together. No I/O.
//
//   frames -> decode -> gate -> network -> track -> listener
//
// A stage s of a camera takes t(s, m) seconds on machine m, lambda(s) times a second: `rate` times,
// the network only for the share of frames that the gate lets through. A message between two
// machines takes bytes / bandwidth on the way out of one, on the way in of the other, and in their
// radio channels. Of each such resource r, with `cores` that serve at a time,
//
//   load(r) = sum lambda t / cores
//   wait(r) = min(sum lambda t^2 / (2 (1 - load(r))), the times of the other cameras) / cores
//
// the first being Pollaczek and Khinchine's formula, the second that of a queue in which no camera
// has more than one frame: newer ones take the place of those that wait. A camera has
//
//   frames a second = rate / max(1, loads of what it uses)
//   latency         = its times, latencies of links, and waits
//   energy          = watts of machines while they compute + joules of bytes on links
//
// Placements are compared by the slowest camera first, then by all rates, then by how many cameras
// are later than they may be, then by latency and energy, or energy and latency. Everything only
// grows with what is added, so that a partial placement is a bound: the search (placement.cc) is
// exact if branch and bound ends within its budget, and reports it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/plan/profile.h"

namespace shoal::placement {

enum class Stage : uint8_t { kDecode, kGate, kNetwork, kTrack };
inline constexpr size_t kStages = 4;

inline constexpr int kNowhere = -1;
inline constexpr double kCannot = std::numeric_limits<double>::infinity();

// The machine of each stage; all are kNowhere for a camera without a place.
using Places = std::array<int, kStages>;
inline constexpr Places kUnplaced = {kNowhere, kNowhere, kNowhere, kNowhere};

inline int place_of(const Places& places, Stage stage) {
  return places[static_cast<size_t>(stage)];
}

// A machine: a camera with a processor, a board, a worker of a cluster, a server.
struct Machine {
  std::string name;
  plan::LinkProfile link = {};
  double cores = 1;            // stages that it computes at a time
  double watts = 0;            // of each that computes, beyond those at rest
  double joules_per_byte = 0;  // sent or received
  bool present = true;

  friend bool operator==(const Machine&, const Machine&) = default;
};

struct Camera {
  std::string name;
  int origin = 0, listener = 0;  // machines where frames come from, and answers go
  double rate = 10;              // frames a second
  double activity = 1;           // share of them that the gate lets through
  double latest_seconds = kCannot;
  // As measured, by stage and machine; kCannot if a machine cannot, or lacks the memory.
  std::array<std::vector<double>, kStages> seconds = {};
  // That each stage reads of a frame, and behind them those of an answer.
  std::array<double, kStages + 1> bytes = {};

  friend bool operator==(const Camera&, const Camera&) = default;
};

enum class Objective : uint8_t { kLatency, kEnergy };

struct Problem {
  std::vector<Machine> machines = {};
  std::vector<Camera> cameras = {};
  Objective objective = Objective::kLatency;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// What a placement is worth; less is better.
struct Score {
  double shortfall = 1;  // wanted by expected frames a second, of the slowest camera
  double slowdown = 0;   // the sum of that
  size_t late = 0;       // cameras
  double latency_seconds = 0, watts = 0;  // sums
};
bool is_better(const Score& a, const Score& b, Objective objective);

// What is expected of a camera.
struct Expected {
  Places places = kUnplaced;
  double rate = 0;  // frames a second; 0: no machine can
  double latency_seconds = 0;
  double joules = 0;     // for each frame
  std::string why = {};  // why its network is there and not on the next best machine
};

struct Placement {
  std::vector<Expected> cameras = {};
  std::vector<double> loads = {};  // of machines: the share of the time that they compute
  Score score = {};                // of the cameras that have a place
  bool optimal = true;             // no placement is better
};

struct PlaceOptions {
  // Current places; empty: none. Cameras stay where possible, unless moving more of them makes the
  // slowest, or all together, faster by a tenth.
  std::vector<Places> previous = {};
  size_t most_evaluations = 100'000;
};

// Fails with kInvalidArgument if a number is negative or not finite, or a machine does not
// exist. Machines that are not present get nothing.
Result<Placement> place(const Problem& problem, const PlaceOptions& options = {});

// Evaluates these places. REQUIRES: one for each camera, on machines that can.
Result<Placement> evaluate(const Problem& problem, const std::vector<Places>& places);

}  // namespace shoal::placement
