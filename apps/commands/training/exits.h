// shoal exits: its settings, the rows and JSON fields of its result, and thresholds in words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/shrink/exits/learning/add_exits.h"
#include "shoal/shrink/exits/network/multi_exit.h"

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

Json to_json(const ExitsResult& result);
// A row for each exit, and one for the last classifier.
std::vector<Facts> rows_of(const ExitsResult& result);
std::vector<std::string> lines_of(const ExitsResult& result);

// Names of values, or one text "auto" or "auto:3", with the number of exits at even shares of the
// work. kInvalidArgument for another text after the colon.
Status set_places(const std::vector<std::string>& at, ExitsOptions& options);

// The threshold of each exit: "0.9,0.95", or "calibrated": as the network has them.
// kInvalidArgument unless there is a number for each, none of them negative.
Result<std::vector<double>> thresholds_in(const std::string& text, std::span<const Exit> exits);

}  // namespace shoal::exits
