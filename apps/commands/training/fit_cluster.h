// shoal fit-cluster: its settings, and the rows and JSON fields of its result.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/shrink/fit_cluster/fit_cluster.h"

namespace shoal::fit_cluster {

struct FitSettings {
  FitOptions options;  // what needs no further reading
  std::string target = "ms=0.5x";
  std::vector<std::string> ways = {};  // empty: all
  float distill = 0.5F, temperature = 4;
};

SettingList settings_of(FitSettings& settings);

// All options, with networks that learn by `recipe`. Fails as check(), and with kInvalidArgument
// for an invalid target time. REQUIRES: the ways are known ones.
Result<FitOptions> resolve(const FitSettings& settings, fit::TrainingOptions recipe);

// A row for each attempt, followed by the target.
std::vector<Facts> rows_of(const FitResult& result);
std::vector<std::string> lines_of(const FitResult& result);
Json to_json(const FitResult& result);

}  // namespace shoal::fit_cluster
