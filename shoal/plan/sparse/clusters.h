// Clusters: the non-zeros of a sparse fully-connected weight, divided over workers so that few
// values travel (MSCC and FGCP of MoDNN [Mao 2017a]). A hub has all inputs and wants all
// outputs.
//
// 1. Rows get a part each: spectral embedding, balanced k-means, refinement
//    (refine.h). A column belongs to the part that needs it most.
// 2. Outliers, the non-zeros whose column belongs to another part than their row, stay with their
//    row. They make the value of the column travel once more for each part that has some.
// 3. The hub computes outliers itself as long as it is not the last to finish (clusters.cc).
//
// The hub may be the first worker: then it has a part, too, whose values do not travel.
//
// If there are fewer rows than columns, the same is done to the transposed weight: outliers stay
// with their column, and sums of rows travel instead of inputs.
#pragma once

#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/plan/sparse/refine.h"

namespace shoal::plan {

struct ClusterWorkers {
  std::vector<double> speeds;    // non-zeros in a second of each worker; one part for each
  double hub_speed = 0;          // 0: the hub does not compute
  double seconds_per_value = 0;  // that a worker receives or returns
  bool first_is_hub = false;     // the hub is the first worker, whose speed is the hub's

  friend bool operator==(const ClusterWorkers&, const ClusterWorkers&) = default;
};

// All non-zeros of a part in a line that belongs to another part: with kInputs the line is a
// column, with kSums it is a row.
struct OutlierUnit {
  size_t part = 0;
  size_t line = 0;

  friend bool operator==(const OutlierUnit&, const OutlierUnit&) = default;
};

enum class Travelling {
  kInputs,  // a part computes the non-zeros of its rows
  kSums,    // a part computes the non-zeros of its columns
};

// Of live rows and columns of a pattern. Non-zeros of `on_hub` are the hub's.
struct Clusters {
  Travelling travelling = Travelling::kInputs;
  std::vector<size_t> row_parts;
  std::vector<size_t> column_parts;
  std::vector<OutlierUnit> on_hub;

  friend bool operator==(const Clusters&, const Clusters&) = default;
};

// The same for the same seed, on every machine with the same arithmetic. Fails with
// kInvalidArgument if no worker has a positive speed or a number is negative or not finite.
Result<Clusters> make_clusters(const SparsePattern& pattern, const ClusterWorkers& workers,
                               uint64_t seed);

// Values that travel between the hub and its workers for one vector of inputs. A part always gets
// the inputs that belong to it and returns the outputs that do, and so `values` >= `least`. If the
// first worker is the hub, nothing of its part travels, and nothing of its share of a dense split,
// which is as large as its speed.
struct ClusterTraffic {
  size_t values = 0;
  size_t dense = 0;  // of the whole weight, split along its longer side: longer + parts * shorter
  size_t least = 0;  // live rows + live columns: what is left without outliers
  std::vector<size_t> work;  // non-zeros of each worker
  size_t hub_work = 0;

  // The share of the dense traffic that is saved, and the most that could be.
  double saved() const { return dense == 0 ? 0 : 1 - double(values) / double(dense); }
  double ceiling() const { return dense == 0 ? 0 : 1 - double(least) / double(dense); }
};

// REQUIRES: the clusters are of this pattern and these workers, or have `parts` parts and a hub of
// its own.
ClusterTraffic traffic_of(const SparsePattern& pattern, const Clusters& clusters,
                          const ClusterWorkers& workers);
ClusterTraffic traffic_of(const SparsePattern& pattern, const Clusters& clusters, size_t parts);

// The longest computing time of a worker by the mean one; 1 is even. REQUIRES: positive speeds, as
// many as parts.
double imbalance(const ClusterTraffic& traffic, std::span<const double> speeds);

}  // namespace shoal::plan
