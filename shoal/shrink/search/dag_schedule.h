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

// The schedule that computes inner vertices in this topological order, each on its given unit as
// early as possible. `unit_of` is by vertex; source and sink are ignored.
Schedule carry_out(const Workload& work, const Units& units, const std::vector<size_t>& order,
                   const std::vector<size_t>& unit_of);

// Partition: a unit for each vertex, with little traffic and balanced work, for the concurrency
// score [Hadidi 2021, 5.2]. The score is about the DAG, not a schedule, which cuts edges wherever
// no time is lost.
//
// Minimises Lambda, the bytes that travel, under a cap on a unit's work, by Fiduccia and
// Mattheyses. A pass moves each inner vertex once, always by the best move under the cap, then
// returns to the best partition on the way. Passes repeat while they gain. Starts from equal shares
// of consecutive vertices, by number and in depth-first order, and keeps the better result.

// The unit of each vertex. That of the source is ignored, as it is on every unit; the sink is on
// the unit after all others.
using Partition = std::vector<size_t>;

// The cap on a unit's work: `balance` times the mean, or the mean plus the largest vertex if that
// is more, as no method can promise less.
double most_work(const Workload& work, size_t units, double balance);

// REQUIRES: units > 0, balance >= 1.
Partition partition(const Workload& work, size_t units, double balance);

// Lambda: the sum over inner vertices of bytes times the number of other units that need them.
double cut_bytes(const Workload& work, const Partition& partition);

// Concurrency score: how well a DAG can be computed by n units, from a partition of its vertices
// alone [Hadidi 2021, 5.2]. With w(v) the work of an inner vertex and L(v) the bytes that it makes,
//
//   eta     = (most work on one path) / (sum of w / n)                                  (Eq 5.2)
//   delta   = (most work on one unit) / (sum of w / n)
//   Lambda  = sum over v of L(v) (g(v) - 1), g = number of units with v or a successor of v  (5.3)
//   Lambda' = Lambda / (n min L)
//   CS      = (delta^a Lambda'^b eta^c)^(1/3), a = c = 1, b = 1.5                         (Eq 5.4)
//
// Lower is better. The thesis counts the vertices of a path; for equal work that is the same as eta
// here. The source is on every unit and in no sum. The sink has no work here, but a unit of its
// own, so Lambda > 0: otherwise a chain on one unit would score zero.
//
// As in the thesis, the score of a DAG is the best over partitions with several caps on delta, all
// near 1: Lambda' counts more than delta and eta, and a chain on one unit would beat parallel
// chains with a few edges between them.

struct Score {
  double eta = 0;           // n / vertices to n, for equal work
  double delta = 0;         // 1 to n
  double lambda = 0;        // bytes
  double lambda_prime = 0;  // at least 1 / n
  double share = 0;         // sum of w / n

  double cs() const;
  // What a schedule on such units takes at least by this score, and its messages beside:
  //   max(eta, delta) (sum of w / n) / speed + Lambda / (n bandwidth).
  // It ranks DAGs as their schedules do, better than CS, in which Lambda counts most whatever the
  // links are.
  double seconds(const Units& units) const;
};

// The score of one partition. REQUIRES: inner vertices have work and bytes above zero.
Score score(const Workload& work, const Partition& partition, size_t units);

// The best score of partitions over the units. REQUIRES: as above.
Score best_score(const Workload& work, size_t units);

}  // namespace shoal::concurrent
