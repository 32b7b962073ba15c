// A report on a classifier as branches: sizes, accuracy, and predicted speed on a cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shoal/shrink/branches/compare.h"
#include "shoal/shrink/branches/learn_branches.h"

namespace shoal::branch {

// The devices for this number of branches.
using ClusterFor = std::function<Result<plan::ClusterProfile>(size_t branches)>;

// Command-line settings of branches.
struct BranchWords {
  std::string branches = "auto";  // or a number; auto: as few as fit the memory of a worker
  std::string widths = {};        // in its place: "1,2,4", or auto: one for each worker
};

// The widths of these settings. kInvalidArgument for text that is no number, too many branches, or
// a network that fits one worker's memory.
Result<std::vector<double>> widths_of(const BranchWords& words, const Graph& graph, double fattened,
                                      const ClusterFor& cluster_for);

// "20", percent, or "auto": until `max_drop` is met, in points.
Status set_fatten(const std::string& text, double max_drop, LearnOptions& options);

struct BranchReport {
  size_t branches = 0;
  BranchSizes sizes = {};
  std::optional<LearnResult> learned = {};
  std::optional<Comparison> times = {};
  std::string no_times = {};  // why there are none, such as a lack of memory
};

// Trains branches on the data of `open_data`; if it is null, only writes them to options.out, if
// set. Fails as widths_of(), `open_data` and learn_branches() do.
Result<BranchReport> report_branches(Device& device, const Model& model, LearnOptions options,
                                     const BranchWords& words, const ClusterFor& cluster_for,
                                     const std::function<Result<fit::JudgedData>()>& open_data,
                                     const LearnCallbacks& callbacks = {});

}  // namespace shoal::branch
