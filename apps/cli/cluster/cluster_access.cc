// Access to real, emulated and MPI clusters. Emulation is asked for by the environment, which
// 'shoal emulate' sets for its command.
#include "cluster_access.h"

#include <cstdio>
#include <cstdlib>

#include "../model.h"
#include "deploy_progress.h"
#include "shoal/base/user_folders.h"
#include "shoal/cluster/board.h"
#include "shoal/cluster/folder.h"
#include "shoal/cluster/member_upkeep.h"
#include "shoal/emulate/links.h"
#include "shoal/net/tls/membership.h"
#include "shoal/passes/passes.h"
#ifdef SHOAL_MPI
#include "shoal/devices/devices.h"
#include "shoal/mpi/ranked_cluster.h"
#endif

namespace shoal::cli {
namespace {

void say_left_out(const Status& why) {
  std::fprintf(stderr, "left out: %s\n", std::string(why.message()).c_str());
}

}  // namespace

Result<std::unique_ptr<ClusterAccess>> ClusterAccess::open(const PlanFlags& flags,
                                                           Progress progress) {
  std::unique_ptr<ClusterAccess> access(new ClusterAccess);
  cluster::ConnectionOptions options{.cache = cache_folder(), .left_out = say_left_out};
  options.deploy.progress = progress ? std::move(progress) : draw_deployments();
  const std::string_view board = flags.board();
  SHOAL_TRY(flags.network == "mpi" ? access->open_ranks(flags.local_device, std::move(options))
            : !board.empty()       ? access->open_board(board, std::move(options))
                                   : access->open_folder(flags.exclusive, std::move(options)));
  return access;
}

Status ClusterAccess::open_board(std::string_view names, cluster::ConnectionOptions options) {
  SHOAL_ASSIGN(cluster::Board board,
               cluster::start_board(names, {.cpu = {.tune = Tune::kFast, .remember = true}}));
  SHOAL_ASSIGN(connection_, cluster::connect_board(std::move(board), std::move(options)));
  return {};
}

Result<plan::ClusterProfile> measure_board(const PlanFlags& flags) {
  SHOAL_ASSIGN(const auto access, ClusterAccess::open(flags));
  SHOAL_ASSIGN(LoadedGraph loaded, load_graph(flags.model, flags.shapes));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
  return access->profile(graph);
}

#ifdef SHOAL_MPI
Status ClusterAccess::open_ranks(const std::string& device, cluster::ConnectionOptions options) {
  SHOAL_ASSIGN(auto cluster, mpi::join_ranks([&] {
                 return shoal::make_device(device, {.cpu = {.threads = 1}});
               }));
  if (!cluster) std::exit(EXIT_SUCCESS);  // this rank was a worker, and rank 0 is done
  ranks_ = std::move(cluster->ranks);
  SHOAL_ASSIGN(connection_,
               cluster::ClusterConnection::open(std::move(cluster->workers),
                                                std::move(cluster->transport), std::move(options)));
  return {};
}
#else
Status ClusterAccess::open_ranks(const std::string&, cluster::ConnectionOptions) {
  return Status(Code::kUnsupported, "this shoal was built without MPI (cmake -DSHOAL_MPI=ON)");
}
#endif

Status ClusterAccess::open_folder(bool exclusive, cluster::ConnectionOptions options) {
  SHOAL_ASSIGN(const EmulationFlags flags, EmulationFlags::of_environment());
  SHOAL_ASSIGN(emulation_, flags.make());
  const cluster::ClusterFolder folder(cluster::default_cluster_folder());
  net::TlsOptions tls;
  SHOAL_ASSIGN(tls.membership, folder.membership());
  SHOAL_ASSIGN(auto transport, emulation_.transport(tls.membership->identity(), "", tls));
  cluster::renew_due_workers(folder, *transport);
  SHOAL_ASSIGN(auto workers, folder.workers());
  if (exclusive) {
    options.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); };
  }
  if (emulated()) {
    real_deploy_ = flags.real_deploy;
    SHOAL_ASSIGN(dilation_, emulation_.shared_dilation());
    SHOAL_ASSIGN(shaping_, emulate::open_shaping(emulation_.media));
    options.profile = emulation_.cluster;
    options.dilation = dilation_->get();
    shape(false);
  }
  SHOAL_ASSIGN(connection_, cluster::ClusterConnection::open(
                                std::move(workers), std::move(transport), std::move(options)));
  return {};
}

void ClusterAccess::set_dilation(double dilation) {
  dilation_->set(dilation);
  connection_->set_dilation(dilation);
}

void ClusterAccess::shape(bool on) const {
  if (shaping_ != nullptr) shaping_->store(on || real_deploy_);
}

}  // namespace shoal::cli
