#include "shoal/cluster/emulate/workers/worker_service.h"

#include "shoal/base/machine/machine.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/net/address.h"
#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/engine/device/wrapped.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::emulate {

Result<cluster::WorkerOptions> worker_options(const WorkerServiceOptions& options,
                                              const std::shared_ptr<net::Membership>& membership) {
  const net::Identity identity = membership->identity();
  cluster::WorkerOptions all;
  all.name = identity.name;
  all.membership = membership;
  all.tasks = options.tasks;
  all.tasks.merge(cluster::training_tasks());
  if (options.log_of_peers) all.log = options.log_of_peers;
  // Another cluster that this folder joins counts anew.
  SHOAL_ASSIGN(all.epochs,
               cluster::EpochFile::open(options.folder / ("epoch-" + identity.cluster)));
  const size_t memory = options.memory_mb > 0 ? static_cast<size_t>(options.memory_mb) << 20
                                              : static_cast<size_t>(physical_memory_bytes() / 2);
  // Weights are kept twice: as they came, and as kernels read them.
  all.weight_bytes = all.plan_bytes = memory / 2;
  if (options.store.empty()) return all;
  SHOAL_ASSIGN(all.cache, cluster::WeightCache::open(options.store,
                                                     static_cast<size_t>(options.quota_mb) << 20));
  return all;
}

Result<std::unique_ptr<WorkerService>> WorkerService::make(
    std::shared_ptr<net::Membership> membership, WorkerServiceOptions options) {
  std::unique_ptr<WorkerService> made(new WorkerService(std::move(membership), std::move(options)));
  const net::Identity identity = made->membership_->identity();
  made->name_ = identity.name;
  SHOAL_TRY(made->make_devices());
  net::TlsOptions tls;
  tls.membership = made->membership_;
  if (const auto& log = made->options_.log_of_peers) {
    tls.refused = [log](const Status& why) { log("refused: " + std::string(why.message())); };
  }
  SHOAL_ASSIGN(made->transport_, made->options_.emulation.transport(identity, made->name_, tls));
  return made;
}

Status WorkerService::make_devices() {
  CpuOptions cpu{.threads = options_.threads, .share = options_.speed, .tune = Tune::kFast};
  SHOAL_ASSIGN(auto device, make_device(options_.device, {.cpu = cpu}));
  device_ = make_watched_device(std::move(device), [this](const Status& why) {
    if (is_lost_.exchange(true)) return;
    log("ends: " + std::string(why.message()));
    if (options_.lost) options_.lost();
  });
  // Kernels that are chosen by measuring are not the same on all workers, and round differently.
  cpu.tune = Tune::kOff;
  SHOAL_ASSIGN(learner_, make_device(options_.device, {.cpu = cpu}));
  SHOAL_ASSIGN(WorkerDevices devices, devices_of(options_.emulation, name_, *device_, *learner_));
  devices_.emplace(std::move(devices));
  return {};
}

Result<std::string> WorkerService::listen(const std::string& interface) {
  SHOAL_ASSIGN(listener_, transport_->listen(interface));
  address_ = listener_->address();
  return address_;
}

Status WorkerService::serve() {
  SHOAL_ASSIGN(cluster::WorkerOptions options, worker_options(options_, membership_));
  SHOAL_ASSIGN(const auto fault_hook, options_.emulation.fault_hook(name_));
  if (fault_hook) {
    options.reached = [fault_hook](cluster::FaultPoint at) { fault_hook(static_cast<int>(at)); };
  }
  options.task_device = &devices_->learner;
  worker_ = std::make_unique<cluster::Worker>(std::move(options), devices_->device, *transport_);
  worker_->serve(std::move(listener_));
  announce();
  // An owner that connects to the worker renews it, too.
  if (auto joined_at = net::joined_at(options_.folder); joined_at.ok()) {
    renewal_ = std::make_unique<net::RenewalThread>(membership_, *std::move(joined_at),
                                                    [this](const std::string& line) { log(line); });
  }
  return {};
}

// A failure is only reported, because workers can also be listed by hand.
void WorkerService::announce() {
  using Announce = WorkerServiceOptions::Announce;
  const auto where = net::parse_interface(address_);
  if (!where.ok() || options_.announce == Announce::kNever) return;
  if (where->is_loopback && options_.announce != Announce::kAlways) return;
  auto announcement = net::announce(name_, where->port);
  if (announcement.ok()) {
    announcement_ = *std::move(announcement);
  } else {
    log("not announced: " + std::string(announcement.status().message()));
  }
}

}  // namespace shoal::emulate
