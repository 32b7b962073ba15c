// Flags of plans, and the plans that they ask for. Searching is done by shoal/plan.
#include "planning.h"

#include <cstdio>

#include "model.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::cli {

std::string_view PlanFlags::board() const { return config::board_of(*this, cluster.device); }

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
  SHOAL_ASSIGN(Graph graph, load_optimized(flags.model, flags.shapes));
  const auto make_seeing_device = [&] {
    std::fprintf(stderr,
                 "shoal: int8 ranges are those of a random input, good for measuring only\n");
    return shoal::make_device(flags.local_device);
  };
  return config::make_planned(flags, std::move(options), {flags.model, std::move(graph)},
                              profile_of, make_seeing_device);
}

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, plan::ClusterProfile cluster) {
  return make_planned_stream(flags, [&](const Graph&) { return std::move(cluster); });
}

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, const ProfileOf& profile_of) {
  SHOAL_ASSIGN(Graph graph, load_optimized(flags.model, flags.shapes));
  return config::make_planned_stream(flags, {flags.model, std::move(graph)}, profile_of);
}

}  // namespace shoal::cli
