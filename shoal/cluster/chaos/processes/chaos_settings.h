// ChaosSettings: which faults meet what, in words, as flags and files say it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shoal/base/text/setting.h"
#include "shoal/cluster/chaos/processes/chaos_run.h"

namespace shoal::chaos {

struct ChaosSettings {
  bool sim = false, train = false;  // simulated clusters; workers that learn
  uint64_t histories = 1000;        // of simulated clusters
  size_t workers = 5;
  std::string cluster = {};  // emulated devices in their place: cluster.toml
  double dilation = 0;       // times as slow as the real ones; 0: as needed
  int survive = 1;
  uint64_t lies = 0, verify = 0;
  std::string model = "zoo:digits";
  std::string codec = "f32";  // of gradients
  ChaosRunOptions run = {};
  OverloadOptions overload{.times = 0};  // 0: none
  std::string html = {};                 // a file for a page about the faults

  bool is_overload() const { return overload.times > 0; }
  bool is_emulated() const { return !cluster.empty(); }
  // Whether the worker that lies must be found: requests are checked.
  bool finds_liars() const { return lies > 0 && verify > 0; }
};

// The cluster of these settings, without its workers (chaos_workers.h).
ChaosClusterOptions cluster_options(const ChaosSettings& settings, std::filesystem::path program);

// By their names: how many faults of each kind; where these and requests come from.
SettingList fault_settings(ChaosSettings& settings);
SettingList request_settings(ChaosSettings& settings);

// What was left open, where `names_faults` says whether any were asked for. kInvalidArgument for
// what does not go together.
Result<ChaosSettings> completed(ChaosSettings settings, bool names_faults);

}  // namespace shoal::chaos
