// A classifier as branches: what is known of them without learning, what was learned, and how fast
// they would be on a cluster.
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

// What branches should be, in words.
struct BranchWords {
  std::string branches = "auto";  // or a number; auto: as few as fit the memory of a worker
  std::string widths = {};        // in its place: "1,2,4", or auto: one for each worker
};

// The widths that the words stand for. Fails with kInvalidArgument for what are no numbers, more
// branches than there may be, and a network that one worker has the memory for.
Result<std::vector<double>> widths_of(const BranchWords& words, const Graph& graph, double fattened,
                                      const ClusterFor& cluster_for);

// "20", percent, or "auto": until `max_drop` is met, in points.
Status set_fatten(const std::string& text, double max_drop, LearnOptions& options);

struct BranchReport {
  size_t branches = 0;
  BranchSizes sizes = {};
  std::optional<LearnResult> learned = {};
  std::optional<Comparison> times = {};
  std::string no_times = {};  // why there are none: a cluster may lack the memory
};

// Lets branches learn from what `open_data` opens; where it is null, branches are only written to
// options.out, if there is one. Widths are those of the words. Fails as widths_of(), `open_data`
// and learn_branches() do.
Result<BranchReport> report_branches(Device& device, const Model& model, LearnOptions options,
                                     const BranchWords& words, const ClusterFor& cluster_for,
                                     const std::function<Result<fit::JudgedData>()>& open_data,
                                     const LearnCallbacks& callbacks = {});

}  // namespace shoal::branch
