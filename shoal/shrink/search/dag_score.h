// Concurrency score: how well a DAG can be computed by n units, from a partition of its vertices
// alone [Hadidi 2021, 5.2]. With w(v) the work of an inner vertex and L(v) the bytes that it makes,
//
//   eta     = (most work on one path) / (sum of w / n)                                  (Eq 5.2)
//   delta   = (most work on one unit) / (sum of w / n)
//   Lambda  = sum over v of L(v) (g(v) - 1), g = number of units with v or a successor of v  (5.3)
//   Lambda' = Lambda / (n min L)
//   CS      = (delta^a Lambda'^b eta^c)^(1/3), a = c = 1, b = 1.5                         (Eq 5.4)
//
// All are better when lower. The thesis counts the vertices of a path; for equal work that is the
// same as eta here. The source is on every unit and no part of a sum. The sink has no work here,
// but is on a unit of its own, so Lambda > 0: without it, a chain on one unit would have the score
// zero.
//
// As in the thesis, the score of a DAG is the best over partitions with several caps on delta. They
// are near 1, since Lambda' counts more than delta and eta: free to stay on one unit, a chain would
// have a better score than chains beside each other with a few edges between them.
#pragma once

#include <cstddef>

#include "shoal/shrink/search/dag_partition.h"
#include "shoal/shrink/search/dag_schedule.h"

namespace shoal::concurrent {

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
