// Flags of plans, and the plans that they ask for. Searching is done by shoal/plan.
#include "planning.h"

#include <algorithm>

#include "apps/flags/json.h"
#include "model.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/hierarchy/levels.h"
#include "shoal/plan/search/comparison_summary.h"
#include "shoal/plan/search/plan_words.h"

namespace shoal::cli {
namespace {

constexpr std::array<std::string_view, 2> kStreamSplits = {"stages", "replicas"};

bool splits_streams(const std::string& split) {
  return std::ranges::find(kStreamSplits, split) != kStreamSplits.end();
}

// The devices of "board:cpu+opencl:0"; empty: it is another name.
std::string_view board_of(std::string_view name) {
  constexpr std::string_view kKind = "board:";
  return name.starts_with(kKind) ? name.substr(kKind.size()) : std::string_view();
}

}  // namespace

std::string_view PlanFlags::board() const {
  return board_of(network.empty() ? cluster.device : network);
}

void PlanFlags::add_to(Command& command) {
  command.add_option("model", model, "ONNX file or zoo:NAME")->required();
  cluster.add_to(command);
  add_split_to(FlagGroup(command));
  command.check_together([this] { return check(); });
  command.add_option("--shape", shapes, "NAME=1x3x224x224 for inputs of open size");
  command.add_setting(
      "--search", search,
      "Over all workers at once, or by levels: from a few to all; auto: by levels for "
      "more than 64",
      one_of({"auto", "flat", "levels"}));
}

Option* PlanFlags::add_cluster_to(Command& command) {
  Option* option =
      command
          .add_flag("--cluster{own}", network,
                    "On the workers of this user's cluster, or of 'mpi', or on devices of this "
                    "machine together: 'board:cpu+opencl:0'")
          ->check([](const std::string& name) -> std::string {
            const bool is_known = name == "own" || name == "mpi" || !board_of(name).empty();
            return is_known ? "" : "it is own, mpi, or board:DEVICE+DEVICE";
          });
  const FlagGroup there(command, "", option);
  there.add_flag("--exclusive", exclusive,
                 "Take the workers over: who used them alone before loses them");
  add_split_to(there);
  command.check_together([this] { return check(); });
  there.add_option("--verify", verify,
                   "With --survive: check one request of so many for wrong results, and leave out "
                   "workers that give them; 0: none",
                   in_range(0, 1'000'000'000));
  return option;
}

void PlanFlags::add_split_to(const FlagGroup& group) {
  std::vector<std::string> splits = plan::cut_names();
  splits.insert(splits.begin(), "any");
  splits.insert(splits.end(), kStreamSplits.begin(), kStreamSplits.end());
  wire.add_to(group);
  Option* survival = group.add_setting(
      "--survive", survive, "Answer though so many workers are lost in the middle of a request",
      in_range(0, 2));
  group
      .add_option("--wait", wait_ms,
                  "Wait so many ms for what is missing before computing it from the rest",
                  in_range(0.0, 1e9))
      ->needs(survival);
  group.add_setting("--objective", objective, "One answer soon, or many a second",
                    one_of({"latency", "throughput"}));
  group.add_setting("--split", split, "Split this way wherever it can be done, for comparison",
                    one_of(splits));
  group.add_option("--fuse", fuse, "At most so many nodes between two exchanges; 0: any number");
  group.add_option("--exclude", excluded, "Workers not to be used, by number")->delimiter(',');
}

Status PlanFlags::check() const {
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

plan::PlanOptions options_of(const PlanFlags& flags) {
  plan::PlanOptions options;
  options.excluded = flags.excluded;
  if (flags.fuse > 0) options.most_nodes = flags.fuse;
  options.wire = flags.wire.options();
  options.survive = flags.survive;
  options.wait_seconds = flags.wait_ms / 1e3;
  if (flags.split != "any" && !splits_streams(flags.split)) plan::force_cut(flags.split, options);
  return options;
}

Status check_survival(const PlanFlags& flags, const plan::ClusterProfile& cluster) {
  return plan::check_survival(count_present(cluster), flags.excluded.size(), flags.survive);
}

Result<plan::ClusterProfile> make_cluster(const PlanFlags& flags) {
  return flags.board().empty() ? make_cluster(flags.cluster) : measure_board(flags);
}

Result<Planned> make_planned(const PlanFlags& flags, plan::ClusterProfile cluster) {
  // Called once: the profile is moved out.
  return make_planned(flags, [&](const Graph&) { return std::move(cluster); });
}

Result<Planned> make_planned(const PlanFlags& flags, const ProfileOf& profile_of) {
  return make_planned(flags, options_of(flags), profile_of);
}

Result<Planned> make_planned(const PlanFlags& flags, plan::PlanOptions options,
                             const ProfileOf& profile_of) {
  SHOAL_ASSIGN(LoadedGraph loaded, load_graph(flags.model, flags.shapes));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(graph));
  if (options.wire.smallest == plan::WireFormat::kI8) {
    SHOAL_ASSIGN(options.wire.largest, largest_values(graph, flags.local_device));
  }
  const bool by_levels = flags.search == "levels" ||
                         (flags.search == "auto" && plan::should_plan_by_levels(cluster, options));
  SHOAL_ASSIGN(auto made, by_levels
                              ? plan::compare_plans_by_levels(graph, std::move(cluster), options)
                              : plan::compare_plans(graph, std::move(cluster), options));
  return Planned{std::move(made), flags.model, std::move(options)};
}

Json to_json(const Planned& planned) {
  plan::Summary summary = summarize(planned);
  summary.model = planned.model;
  auto json = Json::parse(plan::to_json(summary));
  SHOAL_CHECK(json.ok());
  return *std::move(json);
}

}  // namespace shoal::cli
