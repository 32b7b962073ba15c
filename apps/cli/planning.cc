// Flags of plans, and the plans that they ask for. Searching is done by shoal/plan.
#include "planning.h"

#include <cstdio>

#include "model.h"
#include "shoal/compress/calibration.h"
#include "shoal/devices/devices.h"
#include "shoal/plan/search/comparison_summary.h"
#include "shoal/plan/stream/stream_facts.h"

namespace shoal::cli {

std::string_view PlanFlags::board() const {
  return config::board_in(network.empty() ? cluster.device : network);
}

void PlanFlags::add_to(Command& command) {
  command.add_option("model", model, "ONNX file or zoo:NAME")->required();
  cluster.add_to(command);
  command.add(config::split_settings(*this));
  command.check_together([this] { return check(); });
  command.add_option("--shape", shapes, "NAME=1x3x224x224 for inputs of open size");
  command.add({config::search_setting(*this)});
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
  FlagGroup(command, "", option).add(config::network_settings(*this));
  command.check_together([this] { return check(); });
  return option;
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
