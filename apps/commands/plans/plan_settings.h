// Settings of flags and files: how a model is split over workers, and where streams of images are
// processed on a cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/search/planner.h"
#include "shoal/plan/search/wire_format.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::config {

struct PlanSettings {
  std::string objective = "latency";  // or throughput
  std::string split = "any";          // one of split_names()
  std::string search = "auto";        // or flat, or levels
  size_t fuse = 0;                    // nodes in a segment; 0: as many as is good
  std::vector<int> excluded = {};
  std::string network;  // of a cluster that is there: "own", "mpi", "board:cpu+opencl:0"; or none
  bool exclusive = false;    // take its workers over from others
  std::string wire = "f32";  // what values travel as at the least, and what that may change:
  double error = 0;          // a part of the answer's largest element
  int survive = 0;
  double wait_ms = 0;
  uint64_t verify = 0;  // one request of `verify` is checked for lies; 0: none

  bool is_on_cluster() const { return !network.empty(); }
  bool is_stream() const { return objective == "throughput"; }
  // Whether plans for one worker are left out.
  bool is_forced() const;

  // kInvalidArgument for contradicting settings.
  Status check() const;

  // REQUIRES: check() is OK. Without magnitudes of values, which depend on the graph.
  plan::PlanOptions options() const;
  plan::StreamOptions stream_options() const;

  // Whether plans are searched by levels. `options` are those of the plans.
  bool is_by_levels(const plan::ClusterProfile& cluster, const plan::PlanOptions& options) const;
};

// How values are split and sent; likewise with settings for real workers; how plans are searched.
SettingList split_settings(PlanSettings& settings);
SettingList network_settings(PlanSettings& settings);
Setting search_setting(PlanSettings& settings);

// "any", the cuts of values, and how streams are split.
std::vector<std::string> split_names();

// The devices of "board:cpu+opencl:0"; empty for another name.
std::string_view board_in(std::string_view network);
// Those of a network or, if there is none, of the workers' device.
std::string_view board_of(const PlanSettings& settings, std::string_view device);
// "own", "mpi" or a board.
bool is_network_name(std::string_view name);

// kInvalidArgument if the workers of a cluster cannot survive the losses that the settings ask for.
Status check_survival(const PlanSettings& settings, const plan::ClusterProfile& cluster);

// The plans that the settings ask for. Fails as compare_plans().
Result<plan::Comparison> compare_plans(const PlanSettings& settings, const Graph& graph,
                                       plan::ClusterProfile cluster,
                                       const plan::PlanOptions& options);

struct PlaceSettings {
  std::string place = "auto";  // or whole, or split
  double rate = 30, watts = 0;

  // Whether each stream has its own worker; otherwise one network is split for all of them.
  // `delta`: only changes are computed.
  bool is_whole(const PlanSettings& plan, size_t streams, bool delta) const;
  // kInvalidArgument for contradicting settings.
  Status check(const PlanSettings& plan, bool delta) const;
};

SettingList settings_of(PlaceSettings& settings);

}  // namespace shoal::config

namespace shoal::plan {

// "none", "rows", ...
std::vector<std::string> cut_names();
// Makes plans use this cut wherever possible. REQUIRES: it is one of cut_names().
void force_cut(std::string_view name, PlanOptions& options);

// "f32", "f16", "int8".
std::vector<std::string> wire_format_names();
// REQUIRES: it is one of these.
WireFormat find_wire_format(std::string_view name);

}  // namespace shoal::plan
