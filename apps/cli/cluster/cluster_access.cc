// Access to real, emulated and MPI clusters. Emulation is asked for by the environment, which
// 'shoal emulate' sets for its command.
#include "cluster_access.h"

#include <cstdio>
#include <cstdlib>

#include "../model.h"
#include "emulation_flags.h"
#include "shoal/base/files/user_folders.h"
#include "shoal/base/processes/parts.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/device/board.h"
#include "shoal/model/passes/passes.h"
#ifdef SHOAL_MPI
#include "shoal/cluster/mpi/ranked_cluster.h"
#include "shoal/engine/devices/devices.h"
#endif

namespace shoal::cli {
namespace {

using Access = Result<std::unique_ptr<ClusterAccess>>;

constexpr uint64_t kMegabyte = 1'000'000;

// A line for deployments that send a megabyte or more, on a terminal only.
DeployProgress weights_bar() {
  const auto bar = std::make_shared<ProgressBar>("weights");
  return [bar](const cluster::WeightsProgress& progress) {
    const cluster::WeightProgress all = sum_of(progress);
    const std::string note = "MB to " + std::to_string(progress.size()) + " workers";
    if (all.total >= kMegabyte) bar->of(all.done / kMegabyte, all.total / kMegabyte, note);
    if (all.done == all.total) bar->erase();
    return Status();
  };
}

void say_left_out(const Status& why) {
  std::fprintf(stderr, "left out: %s\n", std::string(why.message()).c_str());
}

Access open_board(std::string_view names, cluster::ConnectionOptions options) {
  SHOAL_ASSIGN(cluster::Board board,
               cluster::start_board(names, {.cpu = {.tune = Tune::kFast, .remember = true}},
                                    cluster::training_tasks()));
  SHOAL_ASSIGN(auto connection, cluster::connect_board(std::move(board), std::move(options)));
  return std::make_unique<ClusterAccess>(std::move(connection));
}

#ifdef SHOAL_MPI
Access open_ranks(const std::string& device, cluster::ConnectionOptions options) {
  SHOAL_ASSIGN(auto cluster, mpi::join_ranks([&] {
                 return shoal::make_device(device, {.cpu = {.threads = 1}});
               }));
  if (!cluster) std::exit(EXIT_SUCCESS);  // this rank was a worker, and rank 0 is done
  SHOAL_ASSIGN(auto connection,
               cluster::ClusterConnection::open(std::move(cluster->workers),
                                                std::move(cluster->transport), std::move(options)));
  return std::make_unique<ClusterAccess>(std::move(connection), std::move(cluster->ranks));
}
#else
Access open_ranks(const std::string&, const cluster::ConnectionOptions&) {
  return part_missing(Part::kMpi, "this shoal was built without MPI");
}
#endif

Access open_folder(bool exclusive, cluster::ConnectionOptions options) {
  SHOAL_ASSIGN(const EmulationFlags flags, EmulationFlags::of_environment());
  SHOAL_ASSIGN(emulate::Emulation emulation, flags.make());
  return ClusterAccess::open(cluster::ClusterFolder(cluster::default_cluster_folder()),
                             {.emulation = std::move(emulation),
                              .real_deploy = flags.real_deploy,
                              .exclusive = exclusive,
                              .connection = std::move(options)});
}

}  // namespace

Access open_access(const PlanFlags& flags, DeployProgress progress) {
  cluster::ConnectionOptions options{.cache = cache_folder(), .left_out = say_left_out};
  options.deploy.progress = progress ? std::move(progress) : weights_bar();
  const std::string_view board = flags.board();
  return flags.network == "mpi" ? open_ranks(flags.local_device, std::move(options))
         : !board.empty()       ? open_board(board, std::move(options))
                                : open_folder(flags.exclusive, std::move(options));
}

Result<plan::ClusterProfile> measure_board(const PlanFlags& flags) {
  SHOAL_ASSIGN(const auto access, open_access(flags));
  SHOAL_ASSIGN(LoadedGraph loaded, load_graph(flags.model, flags.shapes));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
  return access->profile(graph);
}

Result<emulate::PlanFigures> measure(ClusterAccess& access, Planned& planned, double seconds,
                                     bool strict) {
  ProgressBar bar("bench");
  return emulate::measure_plans(access, planned, planned.options,
                                {.seconds = seconds,
                                 .strict = strict,
                                 .progress =
                                     [&](double at) {
                                       bar.of(static_cast<size_t>(at * 10),
                                              static_cast<size_t>(seconds * 10));
                                     },
                                 .note = [&](const std::string& note) { bar.say(note); }});
}

}  // namespace shoal::cli
