// shoal branch: its settings, the rows and JSON fields of its result, and advice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/shrink/branches/branch_report.h"
#include "shoal/shrink/branches/compare.h"
#include "shoal/shrink/branches/learn_branches.h"

namespace shoal::branch {

struct BranchSettings : BranchWords {
  std::string fatten = "0", merge = "auto";
  double max_drop = 1;
  float distill = 0.5F, temperature = 4;
  LearnOptions options = {};  // what needs no further reading
};

SettingList settings_of(BranchSettings& settings);

// All options except the widths, with branches that are trained and written according to `recipe`.
// Fails as set_fatten(), and with kInvalidArgument for data without a format. REQUIRES: `merge` is
// one of the words.
Result<LearnOptions> resolve(const BranchSettings& settings, fit::TrainingOptions recipe);

// Without members for what was not predicted or not learned.
Json to_json(const BranchReport& report);
std::vector<Facts> rows_of(const BranchReport& report);
// The last of them are advice().
std::vector<std::string> lines_of(const BranchReport& report);

// One sentence each; empty if branches are the best known way.
std::vector<std::string> advice(const std::optional<LearnResult>& learned,
                                const std::optional<Comparison>& times);

}  // namespace shoal::branch
