// Exits in words, as flags say it.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/setting.h"
#include "shoal/shrink/exits/learning/add_exits.h"

namespace shoal::exits {

struct ExitsSettings {
  ExitsOptions options;  // what needs no further reading
  std::vector<std::string> at = {"auto"};
  std::string head = "conv";
  bool no_norms = false;
  double max_drop = -1;  // negative: thresholds are for a precision
  size_t feature_cache_mb = 256;
  train::Loss loss = {.temperature = 4};  // of it: distill, temperature and focal
};

SettingList exit_settings(ExitsSettings& settings);
SettingList calibration_settings(ExitsSettings& settings);

// All options, with exits that learn by `recipe`. kInvalidArgument for "auto:x".
Result<ExitsOptions> resolve(const ExitsSettings& settings, fit::TrainingOptions recipe);

}  // namespace shoal::exits
