// Schedule: when and where each vertex of a DAG is computed.
//
// Source and sink are placed as in [Hadidi 2021, 5.2]: every unit computes the source for itself,
// and an extra unit computes the sink from what all others send. The inner vertices are placed by
// list scheduling. With w(v) the seconds of a vertex and c(v) those of sending what it makes,
//
//   rank(v) = w(v) + max over successors s of (c(v) + rank(s)),
//
// the longest path to the sink with all communication on it. In descending order of rank, each
// vertex goes to the unit on which it ends first,
//
//   begin(v, u) = max(free(u), max over predecessors p of end(p) + (c(p) if unit(p) != u)).
//
// Then a vertex is moved to another unit, or before its neighbour in the order, as long as that
// makes the whole shorter. Messages do not wait for each other here; plan/cost/simulate lets them.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/shrink/search/dag.h"

namespace shoal::concurrent {

// A DAG with its costs, by vertex.
struct Workload {
  Dag dag;
  std::vector<double> macs;   // of computing it
  std::vector<double> bytes;  // of what it makes
};

// The same costs for all inner vertices, none for source and sink.
Workload uniform_workload(Dag dag, double macs, double bytes);

// Equal machines, the one for the sink not counted.
struct Units {
  size_t count = 8;
  double macs_per_second = 1e9;
  double bytes_per_second = 1e7;
  double latency_seconds = 0;  // of a message
};

struct Placement {
  size_t unit = 0;
  double begin = 0, end = 0;  // seconds
};

struct Schedule {
  // By vertex. The source is on every unit, and stands here with unit 0. The sink is on unit
  // Units::count.
  std::vector<Placement> placed;

  double seconds() const { return placed.back().end; }
};

// REQUIRES: units.count > 0, speeds > 0, and costs that are finite and not negative.
Schedule make_schedule(const Workload& work, const Units& units);

// The schedule in which inner vertices are computed in this order, which is a topological one, each
// on its given unit and as early as possible. `unit_of` is by vertex; source and sink are ignored.
Schedule carry_out(const Workload& work, const Units& units, const std::vector<size_t>& order,
                   const std::vector<size_t>& unit_of);

}  // namespace shoal::concurrent
