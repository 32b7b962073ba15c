// shoal chaos: its settings, and the rows, JSON fields and sentences about faults and overload.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
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
  // Whether the lying worker must be found: requests are checked.
  bool finds_liars() const { return lies > 0 && verify > 0; }
};

// The cluster of these settings, without its workers (chaos_workers.h).
ChaosClusterOptions cluster_options(const ChaosSettings& settings, std::filesystem::path program);

// By name: the number of faults of each kind; the sources of faults and requests.
SettingList fault_settings(ChaosSettings& settings);
SettingList request_settings(ChaosSettings& settings);

// Fills in defaults; `names_faults` tells whether any faults were asked for. kInvalidArgument for
// contradicting settings.
Result<ChaosSettings> completed(ChaosSettings settings, bool names_faults);

Json to_json(const ChaosReport& report);
std::vector<Facts> rows_of(const ChaosReport& report);
std::vector<std::string> lines_of(const ChaosReport& report);

// The faults by kind, as overload_cluster() counts them.
using FaultKinds = std::map<std::string, uint64_t>;
Json to_json(const OverloadReport& report, const FaultKinds& kinds);
std::vector<Facts> rows_of(const OverloadReport& report, const FaultKinds& kinds);
std::vector<std::string> lines_of(const OverloadReport& report, const FaultKinds& kinds);

// The state of a run: workers, requests and how long they take, a line each.
std::vector<std::string> lines_of(const ChaosProgress& progress);
// The same in one line, about the latest fault.
std::string line_of(const ChaosProgress& progress);

// Describes each fault once. Not thread-safe.
class FaultLines {
 public:
  // line_of(progress), if a fault has begun since the last call; else empty.
  std::string next(const ChaosProgress& progress);

 private:
  uint64_t told_ = 0;  // faults
};

// A note that emulated devices were slower than they should be, because this machine is too busy;
// empty if they were not. `predicted_ms` is a request without faults.
std::string note_lateness(const ChaosReport& report, double predicted_ms);

}  // namespace shoal::chaos
