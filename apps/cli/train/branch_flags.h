// The flags of shoal branch, and what they stand for.
#pragma once

#include <string>

#include "shoal/branch/report.h"
#include "shoal/plan/profile.h"
#include "train_flags.h"

namespace shoal::cli {

struct BranchFlags : branch::BranchWords {
  TrainFlags train;
  std::string fatten = "0", merge = "auto";
  std::string cluster, worker = "pi3", link = "ethernet-100";
  size_t workers = 0;  // 0: one for each branch
  double max_drop = 1;
  branch::LearnOptions options;  // what needs no further reading

  void add_to(Command& command);
  // All but the widths. Saves the preset if --save-preset was given.
  Result<branch::LearnOptions> resolve() const;
  // The devices that branches are for, of which there are as many as branches unless a flag says
  // otherwise.
  Result<plan::ClusterProfile> cluster_for(size_t count) const;
};

}  // namespace shoal::cli
