#include "shoal/cluster/emulate/workers/cluster_access.h"

#include <utility>

#include "shoal/cluster/emulate/machines/links.h"
#include "shoal/cluster/members/member_upkeep.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::emulate {

Result<std::unique_ptr<ClusterAccess>> ClusterAccess::open(const cluster::ClusterFolder& folder,
                                                           AccessOptions options) {
  auto access = std::make_unique<ClusterAccess>(nullptr);
  access->emulation_ = std::move(options.emulation);
  const Emulation& emulation = access->emulation_;
  net::TlsOptions tls;
  SHOAL_ASSIGN(tls.membership, folder.membership());
  SHOAL_ASSIGN(auto transport, emulation.transport(tls.membership->identity(), "", tls));
  cluster::renew_due_workers(folder, *transport);
  SHOAL_ASSIGN(auto workers, folder.workers());
  if (options.exclusive) {
    options.connection.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); };
  }
  if (emulation.is_on()) {
    access->real_deploy_ = options.real_deploy;
    SHOAL_ASSIGN(access->dilation_, emulation.shared_dilation());
    SHOAL_ASSIGN(access->shaping_, open_shaping(emulation.media));
    options.connection.profile = emulation.cluster;
    options.connection.dilation = access->dilation_->get();
    access->shape(false);
  }
  SHOAL_ASSIGN(access->connection_,
               cluster::ClusterConnection::open(std::move(workers), std::move(transport),
                                                std::move(options.connection)));
  return access;
}

void ClusterAccess::set_dilation(double dilation) {
  dilation_->set(dilation);
  connection_->set_dilation(dilation);
}

void ClusterAccess::shape(bool on) const {
  if (shaping_ != nullptr) shaping_->store(on || real_deploy_);
}

Status ClusterAccess::slow_down_in_turn(uint64_t turn, double times) const {
  const auto& workers = connection_->workers();
  return slow_down(workers[turn % workers.size()].name, times);
}

cluster::ClusterOptions ClusterAccess::for_device(cluster::ClusterOptions options) const {
  options.timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout * dilation());
  // Plans that are deployed between requests would travel by emulated links, too.
  options.standby = !deploys_ahead();
  if (!emulated()) options.load_interval = std::chrono::seconds(5);
  options.compiling = [this](bool begins) { shape(!begins); };
  return options;
}

}  // namespace shoal::emulate
