// Partition: a unit for each vertex, such that little travels and work is balanced. It serves the
// concurrency score ([Hadidi 2021, 5.2] and dag_score.h), which is about the DAG, not about a
// schedule: a schedule cuts edges wherever no time is lost, and leaves a chain on one unit.
//
// Lambda, the bytes that travel, is minimised under a cap on the work of a unit by the method of
// Fiduccia and Mattheyses. A pass moves each inner vertex once, always the one whose move to some
// unit under the cap gains most or costs least, and then goes back to the best of the partitions on
// the way. Passes are repeated while they gain. It begins with equal shares of consecutive
// vertices, by number and in depth-first order, and keeps the better result.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/shrink/search/dag_schedule.h"

namespace shoal::concurrent {

// The unit of each vertex. That of the source is ignored, as it is on every unit; the sink is on
// the unit after all others.
using Partition = std::vector<size_t>;

// The most work that a unit gets: `balance` times the mean, or the largest vertex more than the
// mean where that is more, as no method can promise less.
double most_work(const Workload& work, size_t units, double balance);

// REQUIRES: units > 0, balance >= 1.
Partition partition(const Workload& work, size_t units, double balance);

Partition partition_of(const Schedule& schedule);

// Lambda: the sum over inner vertices of bytes times the number of other units that need them.
double cut_bytes(const Workload& work, const Partition& partition);

}  // namespace shoal::concurrent
