// The flags of shoal branch, and what they stand for.
#pragma once

#include <string>
#include <vector>

#include "shoal/branch/learn_branches.h"
#include "shoal/plan/profile.h"
#include "train_flags.h"

namespace shoal::cli {

struct BranchFlags {
  TrainFlags train;
  std::string branches = "auto", widths, fatten = "0", merge = "auto";
  std::string cluster, worker = "pi3", link = "ethernet-100";
  size_t workers = 0;  // 0: one for each branch
  double max_drop = 1;
  branch::LearnOptions options;  // what needs no further reading

  void add_to(Command& command);
  bool learns() const { return !train.options.data.empty(); }
  // All but the widths. Saves the preset if --save-preset was given.
  Result<branch::LearnOptions> resolve() const;
  // The devices that branches are for, of which there are as many as branches unless a flag says
  // otherwise.
  Result<plan::ClusterProfile> cluster_for(size_t count) const;
  // The widths of the branches of a network.
  Result<std::vector<double>> widths_of(const Graph& graph, double fattened) const;
};

}  // namespace shoal::cli
