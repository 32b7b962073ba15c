// Access to real, emulated and MPI clusters. Emulation is asked for by the environment, which
// 'shoal emulate' sets for its command.
#include "cluster_access.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "shoal/base/user_folders.h"
#include "shoal/cluster/folder.h"
#include "shoal/emulate/links.h"
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

Result<std::unique_ptr<ClusterAccess>> ClusterAccess::open(const PlanFlags& flags) {
  std::unique_ptr<ClusterAccess> access(new ClusterAccess);
  SHOAL_TRY(flags.network == "mpi" ? access->open_ranks(flags.local_device)
                                   : access->open_folder(flags.exclusive));
  return access;
}

#ifdef SHOAL_MPI
Status ClusterAccess::open_ranks(const std::string& device) {
  SHOAL_ASSIGN(auto cluster, mpi::join_ranks([&] {
                 return shoal::make_device(device, {.cpu = {.threads = 1}});
               }));
  if (!cluster) std::exit(EXIT_SUCCESS);  // this rank was a worker, and rank 0 is done
  ranks_ = std::move(cluster->ranks);
  SHOAL_ASSIGN(connection_, cluster::ClusterConnection::open(
                                std::move(cluster->workers), std::move(cluster->transport),
                                {.cache = cache_folder(), .left_out = say_left_out}));
  return {};
}
#else
Status ClusterAccess::open_ranks(const std::string&) {
  return Status(Code::kUnsupported, "this shoal was built without MPI (cmake -DSHOAL_MPI=ON)");
}
#endif

Status ClusterAccess::open_folder(bool exclusive) {
  SHOAL_ASSIGN(const EmulationFlags flags, EmulationFlags::of_environment());
  SHOAL_ASSIGN(emulation_, flags.make());
  const cluster::ClusterFolder folder(cluster::default_cluster_folder());
  SHOAL_ASSIGN(const net::Identity identity, folder.coordinator());
  SHOAL_ASSIGN(auto transport, emulation_.transport(identity, ""));
  SHOAL_ASSIGN(auto workers, folder.workers());
  cluster::ConnectionOptions options{.cache = cache_folder(), .left_out = say_left_out};
  if (exclusive) {
    options.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); };
  }
  if (emulated()) {
    SHOAL_ASSIGN(dilation_, emulation_.shared_dilation());
    SHOAL_ASSIGN(shaping_, emulate::open_shaping(emulation_.media));
    options.profile = emulation_.cluster;
    options.dilation = dilation_->get();
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
  if (shaping_ != nullptr) shaping_->store(on);
}

}  // namespace shoal::cli
