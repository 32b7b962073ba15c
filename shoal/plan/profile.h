// Profiles: the measured speed of workers and links.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/plan/part.h"

namespace shoal::plan {

// Roofline of an operator: seconds + max(macs * seconds_per_mac, bytes * seconds_per_byte). The
// coefficients are fitted to measurements. Those of "" stand for every operator that was not
// measured.
struct OperatorSpeed {
  double seconds = 0;  // overhead of one node
  double seconds_per_mac = 0;
  double seconds_per_byte = 0;
};

struct WorkerProfile {
  std::string name;
  std::map<std::string, OperatorSpeed, std::less<>> operators;  // by ONNX name, and ""
  double memory_bytes = 1e18;
  // Measured nodes, by the name of their first output: the measured time as a multiple of the
  // roofline.
  std::map<std::string, double, std::less<>> corrections = {};
  // False: it could not be measured, and plans leave it out. Its number stays taken.
  bool present = true;
  // Factor by which other programs slowed its machine down while it was measured: see slowdown().
  double slowdown = 1;

  const OperatorSpeed& speed_of(std::string_view op) const;
  double correction_of(std::string_view output) const;
};

// No shared medium: a dedicated wire.
inline constexpr int kOwnWire = -1;

// The link of one machine to the others, in each direction.
struct LinkProfile {
  double latency_seconds = 0;  // of a small message
  double bytes_per_second = 1e18;
  double wakeup_seconds = 0;          // additional latency after the radio has slept
  double sleep_after_seconds = 1e18;  // the radio sleeps this long after the last message
  int medium = kOwnWire;              // machines of one medium, a radio channel, send one at a time

  friend bool operator==(const LinkProfile&, const LinkProfile&) = default;
};

struct ClusterProfile {
  std::vector<WorkerProfile> workers;
  std::vector<LinkProfile> links;  // one per worker
  LinkProfile coordinator;
  // Small messages wake all radios when a request begins, and keep them from sleeping while it is
  // on its way.
  bool keep_awake = true;

  const LinkProfile& link_of(int worker) const {
    return worker < 0 ? coordinator : links[static_cast<size_t>(worker)];
  }
};

size_t count_present(const ClusterProfile& cluster);

// A placeholder for a worker that could not be measured.
WorkerProfile absent_worker(std::string name);

// A worker's machine and its other programs.
struct Occupancy {
  int cores = 1, threads = 1;  // of the machine; of the worker
  double others = 0;           // cores that other programs keep busy
};
// Factor by which work takes longer than on an idle machine, if the kernel shares cores fairly.
double slowdown(const Occupancy& machine);

// Multiplies all times of a worker.
void scale(WorkerProfile& worker, double factor);

// A worker with one roofline for all operators and no overhead per node.
WorkerProfile uniform_worker(std::string name, double macs_per_second, double bytes_per_second);

// Time of a node by its roofline alone, of a node with its correction, and of a whole part.
double seconds_of(const Work& work, const OperatorSpeed& speed);
double seconds_of(const Graph& whole, const PartNode& node, const Work& work,
                  const WorkerProfile& worker);
double seconds_of(const Graph& whole, const Part& part, const WorkerProfile& worker);

// A message alone on the way, between radios that are awake.
double seconds_of(double bytes, const LinkProfile& from, const LinkProfile& to);

}  // namespace shoal::plan
