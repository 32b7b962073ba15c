// Layout: how a value is spread over workers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

// The ways to cut a value. Which axis that means depends on its rank (layout.cc).
enum class Cut : uint8_t {
  kNone,      // all of it on one worker
  kBatch,     // images
  kRows,      // of images; tokens of sequences
  kColumns,   // of images
  kGrid,      // rows and columns
  kChannels,  // of images; features of vectors and tokens
  kInputs,    // not cut: each of several values on the next worker, as terms of sums are
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

// [0, length) cut in proportion to the shares; largest remainders get what is left.
std::vector<int64_t> cut_points(int64_t length, const std::vector<double>& shares);

// An axis of a value cut in proportion, but between what its node computes at once: heads, say.
std::vector<int64_t> cut_points(const Graph& graph, ValueId value, size_t axis,
                                const std::vector<double>& shares);

// The box of a value that each worker has; empty boxes are possible. Nothing where the value has no
// such axis.
std::vector<Region> regions_of(const Layout& layout, const Graph& graph, ValueId value);

// The pieces of all that is read after the nodes, by worker. Nothing where some value has no such
// axis, or where there are not several values for several workers.
std::optional<std::vector<Task>> tasks_of(const Graph& graph, NodeRange nodes,
                                          const Layout& layout);

}  // namespace shoal::plan
