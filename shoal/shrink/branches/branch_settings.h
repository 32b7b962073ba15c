// Branches in words, as flags say it.
#pragma once

#include <string>

#include "shoal/base/text/setting.h"
#include "shoal/shrink/branches/branch_report.h"

namespace shoal::branch {

struct BranchSettings : BranchWords {
  std::string fatten = "0", merge = "auto";
  double max_drop = 1;
  float distill = 0.5F, temperature = 4;
  LearnOptions options = {};  // what needs no further reading
};

SettingList settings_of(BranchSettings& settings);

// All options but the widths, with branches that learn by `recipe` and are written where that says.
// Fails as set_fatten(), and with kInvalidArgument for data without a format. REQUIRES: `merge` is
// one of the words.
Result<LearnOptions> resolve(const BranchSettings& settings, fit::TrainingOptions recipe);

}  // namespace shoal::branch
