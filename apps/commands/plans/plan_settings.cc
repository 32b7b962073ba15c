#include "apps/commands/plans/plan_settings.h"

#include <algorithm>
#include <array>

#include "shoal/plan/hierarchy/levels.h"

namespace shoal::config {
namespace {

constexpr std::array<std::string_view, 2> kStreamSplits = {"stages", "replicas"};

bool splits_streams(std::string_view split) {
  return std::ranges::find(kStreamSplits, split) != kStreamSplits.end();
}

}  // namespace

SettingList split_settings(PlanSettings& s) {
  return {
      Setting("wire", s.wire, "What values travel as between workers, at the least")
          .one_of(plan::wire_format_names())
          .with("error"),
      Setting("error", s.error, "What that may change, as a part of the answer's largest element")
          .in(0, 1)
          .with("wire"),
      Setting("survive", s.survive,
              "Answer though so many workers are lost in the middle of a request")
          .in(0, 2)
          .showing_default(),
      Setting("wait", s.wait_ms,
              "Wait so many ms for what is missing before computing it from the rest")
          .in(0, 1e9)
          .with("survive"),
      Setting("objective", s.objective, "One answer soon, or many a second")
          .one_of({"latency", "throughput"}),
      Setting("split", s.split, "Split this way wherever it can be done, for comparison")
          .one_of(split_names()),
      {"fuse", s.fuse, "At most so many nodes between two exchanges; 0: any number"},
      {"exclude", s.excluded, "Workers not to be used, by number"}};
}

Setting search_setting(PlanSettings& s) {
  return Setting("search", s.search,
                 "Over all workers at once, or by levels: from a few to all; auto: by levels for "
                 "more than 64")
      .one_of({"auto", "flat", "levels"});
}

SettingList network_settings(PlanSettings& s) {
  return joined(
      {{{"exclusive", s.exclusive, "Take the workers over: who used them alone before loses them"}},
       split_settings(s),
       {Setting("verify", s.verify,
                "With --survive: check one request of so many for wrong results, and "
                "leave out workers that give them; 0: none")
            .in(0, 1e9)}});
}

std::vector<std::string> split_names() {
  std::vector<std::string> splits = plan::cut_names();
  splits.insert(splits.begin(), "any");
  splits.insert(splits.end(), kStreamSplits.begin(), kStreamSplits.end());
  return splits;
}

std::string_view board_in(std::string_view network) {
  constexpr std::string_view kKind = "board:";
  return network.starts_with(kKind) ? network.substr(kKind.size()) : std::string_view();
}

std::string_view board_of(const PlanSettings& settings, std::string_view device) {
  return board_in(settings.is_on_cluster() ? settings.network : device);
}

bool is_network_name(std::string_view name) {
  return name == "own" || name == "mpi" || !board_in(name).empty();
}

bool PlanSettings::is_forced() const { return splits_streams(split); }

Status PlanSettings::check() const {
  if (verify > 0 && (survive == 0 || is_stream())) {
    return invalid("--verify compares what --survive makes redundant, for --objective latency");
  }
  const bool of_streams = splits_streams(split);
  if (of_streams && !is_stream()) {
    return invalid("--split: " + split + " is for --objective throughput");
  }
  if (is_stream() && !of_streams && split != "any" && split != "none") {
    return invalid("--split: for --objective throughput it is stages, replicas, none or any");
  }
  if (exclusive && network != "own") {
    return invalid("--exclusive: ranks of MPI, and devices of a board, serve nobody else");
  }
  return {};
}

plan::PlanOptions PlanSettings::options() const {
  plan::PlanOptions options;
  options.excluded = excluded;
  if (fuse > 0) options.most_nodes = fuse;
  options.wire = {plan::find_wire_format(wire), error, {}};
  options.survive = survive;
  options.wait_seconds = wait_ms / 1e3;
  if (split != "any" && !splits_streams(split)) plan::force_cut(split, options);
  return options;
}

plan::StreamOptions PlanSettings::stream_options() const {
  plan::StreamOptions options;
  options.excluded = excluded;
  options.survive = survive;
  options.wait_seconds = wait_ms / 1e3;
  options.stages = split == "any" || split == "stages";
  options.replicas = split == "any" || split == "replicas";
  return options;
}

bool PlanSettings::is_by_levels(const plan::ClusterProfile& cluster,
                                const plan::PlanOptions& options) const {
  return search == "levels" || (search == "auto" && plan::should_plan_by_levels(cluster, options));
}

Status check_survival(const PlanSettings& settings, const plan::ClusterProfile& cluster) {
  return plan::check_survival(count_present(cluster), settings.excluded.size(), settings.survive);
}

Result<plan::Comparison> compare_plans(const PlanSettings& settings, const Graph& graph,
                                       plan::ClusterProfile cluster,
                                       const plan::PlanOptions& options) {
  return settings.is_by_levels(cluster, options)
             ? plan::compare_plans_by_levels(graph, std::move(cluster), options)
             : plan::compare_plans(graph, std::move(cluster), options);
}

Status PlaceSettings::check(const PlanSettings& plan, bool delta) const {
  if (place != "whole") return {};
  if (!plan.is_on_cluster()) return invalid("--place: whole needs --cluster");
  if (delta || plan.survive > 0 || plan.is_stream() || plan.split != "any") {
    return invalid("--place: whole goes without --delta, --survive, --split and --objective");
  }
  return {};
}

bool PlaceSettings::is_whole(const PlanSettings& plan, size_t streams, bool delta) const {
  if (place != "auto") return place == "whole";
  return streams > 1 && PlaceSettings{.place = "whole"}.check(plan, delta).ok();
}

SettingList settings_of(PlaceSettings& s) {
  return {
      Setting("place", s.place,
              "With --cluster: whole, each stream on the worker that is best for it; split, one "
              "network over all workers; auto: whole for several sources")
          .one_of({"auto", "whole", "split"}),
      Setting("rate", s.rate, "Frames a second that each source has, for --place to plan by")
          .in(0.01, 1e4),
      Setting("watts", s.watts,
              "Of a worker that computes, beyond those at rest: for the energy of a frame")
          .in(0, 1e6),
  };
}

}  // namespace shoal::config

namespace shoal::plan {
namespace {

constexpr std::array kCuts = {Cut::kNone, Cut::kRows,     Cut::kColumns, Cut::kInputs,
                              Cut::kGrid, Cut::kChannels, Cut::kBatch,   Cut::kClusters};
constexpr std::array kFormats = {WireFormat::kF32, WireFormat::kF16, WireFormat::kI8};

std::string word_of(Cut cut) { return cut == Cut::kNone ? "none" : std::string(name_of(cut)); }

}  // namespace

std::vector<std::string> cut_names() {
  std::vector<std::string> names;
  for (Cut cut : kCuts) names.push_back(word_of(cut));
  return names;
}

void force_cut(std::string_view name, PlanOptions& options) {
  const auto found = std::ranges::find(kCuts, name, word_of);
  SHOAL_CHECK(found != kCuts.end());
  options.forced = true;
  options.cuts = {*found};
}

std::vector<std::string> wire_format_names() {
  std::vector<std::string> names;
  for (WireFormat format : kFormats) names.emplace_back(name_of(format));
  return names;
}

WireFormat find_wire_format(std::string_view name) {
  const auto found =
      std::ranges::find_if(kFormats, [&](WireFormat format) { return name_of(format) == name; });
  SHOAL_CHECK(found != kFormats.end());
  return *found;
}

}  // namespace shoal::plan
