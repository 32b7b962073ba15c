// Flags of plans, and the plans that they ask for. Searching is done by shoal/plan.
#include "planning.h"

#include <cstdio>

#include "model.h"
#include "shoal/compress/calibration.h"
#include "shoal/devices/devices.h"
#include "shoal/plan/search/comparison_summary.h"
#include "shoal/plan/search/plan_words.h"
#include "shoal/plan/stream/stream_facts.h"

namespace shoal::cli {

std::string_view PlanFlags::board() const {
  return config::board_in(network.empty() ? cluster.device : network);
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
            return config::is_network_name(name) ? "" : "it is own, mpi, or board:DEVICE+DEVICE";
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
  Option* format =
      group.add_setting("--wire", wire, "What values travel as between workers, at the least",
                        one_of(plan::wire_format_names()));
  Option* allowed = group.add_option(
      "--error", error, "What that may change, as a part of the answer's largest element",
      in_range(0.0, 1.0));
  format->needs(allowed);
  allowed->needs(format);
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
                    one_of(config::split_names()));
  group.add_option("--fuse", fuse, "At most so many nodes between two exchanges; 0: any number");
  group.add_option("--exclude", excluded, "Workers not to be used, by number")->delimiter(',');
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
  return make_planned(flags, flags.options(), profile_of);
}

Result<Planned> make_planned(const PlanFlags& flags, plan::PlanOptions options,
                             const ProfileOf& profile_of) {
  SHOAL_ASSIGN(const Graph graph, load_optimized(flags.model, flags.shapes));
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(graph));
  if (options.wire.smallest == plan::WireFormat::kI8) {
    std::fprintf(stderr,
                 "shoal: int8 ranges are those of a random input, good for measuring only\n");
    SHOAL_ASSIGN(const auto device, shoal::make_device(flags.local_device));
    SHOAL_ASSIGN(options.wire.largest, compress::random_magnitudes(graph, *device));
  }
  SHOAL_ASSIGN(auto made, compare_plans(flags, graph, std::move(cluster), options));
  return Planned{std::move(made), flags.model, std::move(options)};
}

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, plan::ClusterProfile cluster) {
  return make_planned_stream(flags, [&](const Graph&) { return std::move(cluster); });
}

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, const ProfileOf& profile_of) {
  SHOAL_ASSIGN(Graph graph, load_optimized(flags.model, flags.shapes));
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(graph));
  SHOAL_ASSIGN(auto made, plan::compare_streams(std::move(graph), std::move(cluster),
                                                flags.stream_options(), flags.is_forced()));
  return PlannedStream{std::move(made), flags.model};
}

Json to_json(const Planned& planned) {
  plan::Summary summary = summarize(planned);
  summary.model = planned.model;
  auto json = Json::parse(plan::to_json(summary));
  SHOAL_CHECK(json.ok());
  return *std::move(json);
}

Json to_json(const PlannedStream& planned) { return plan::to_json(planned, planned.model); }

}  // namespace shoal::cli
