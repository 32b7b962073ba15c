// Layout: the way in which a value is spread over workers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

// Ways to cut a value. The axis depends on the rank of the value (layout.cc).
enum class Cut : uint8_t {
  kNone,      // all of it on one worker
  kBatch,     // images
  kRows,      // of images; tokens of sequences
  kColumns,   // of images
  kGrid,      // rows and columns
  kChannels,  // of images; features of vectors and tokens
  kInputs,    // not cut: each of several values on the next worker, as terms of sums are
  kClusters,  // the same, of workers that read nothing in common, as blocks of sparse layers
};
std::string_view name_of(Cut cut);

struct Layout {
  Cut cut = Cut::kNone;
  std::vector<int> workers;
  std::vector<double> shares;  // one per worker; they sum to 1
  int64_t grid_rows = 1;       // of kGrid: workers fill it row by row

  std::string describe() const;  // "rows over 4"
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Cuts [0, length) in proportion to the shares; the largest remainders get the elements left over.
// REQUIRES: the shares are not negative and their sum is positive.
std::vector<int64_t> cut_points(int64_t length, const std::vector<double>& shares);

// As above for one axis of a value, but only between groups of elements that its node computes
// together, as an attention does with the channels of a head.
std::vector<int64_t> cut_points(const Graph& graph, ValueId value, size_t axis,
                                const std::vector<double>& shares);

// The box of the value that each worker has; some may be empty. The list is empty if the value has
// no such axis.
std::vector<Region> regions_of(const Layout& layout, const Graph& graph, ValueId value);

// Tasks whose pieces make up every value that is read after the nodes. nullopt if some value has no
// such axis, or for kInputs and kClusters if there is only one value.
std::optional<std::vector<Task>> tasks_of(const Graph& graph, NodeRange nodes,
                                          const Layout& layout);

}  // namespace shoal::plan
