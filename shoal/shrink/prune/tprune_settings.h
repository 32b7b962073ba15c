// TPrune in words, as flags say it.
#pragma once

#include <string>

#include "shoal/base/text/setting.h"
#include "shoal/shrink/prune/tprune.h"

namespace shoal::shrink {

struct TPruneSettings {
  std::string inputs, labels, test_inputs, test_labels;  // files, .npy; empty: none
  std::string target = "macs=0.5", penalty = "hoyer", optimizer = "adam";
  TPruneOptions options = {.sparse = {.strength = 1e-3}};  // what needs no further reading
};

SettingList settings_of(TPruneSettings& settings);

// Fails as compress::parse_target(). REQUIRES: the other words are those that there are.
Result<TPruneOptions> resolve(const TPruneSettings& settings);

// The arrays of the files. Fails as read_npy().
Result<TPruneData> read_data(const TPruneSettings& settings);

}  // namespace shoal::shrink
