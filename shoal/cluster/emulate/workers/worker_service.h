// WorkerService: this machine as a worker of a cluster, real or emulated: its devices, their
// limits, its address, and its certificate, which is renewed in time.
//
//   SHOAL_ASSIGN(const auto service, WorkerService::make(membership, {.folder = folder}));
//   SHOAL_ASSIGN(const std::string address, service->listen("192.168.1.7:7070"));
//   SHOAL_TRY(service->serve());
//   ...  // until it goes
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "shoal/cluster/emulate/machines/emulation.h"
#include "shoal/cluster/net/discovery/discovery.h"
#include "shoal/cluster/net/enrol/renewal.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/worker/worker.h"

namespace shoal::emulate {

struct WorkerServiceOptions {
  std::filesystem::path folder = {};  // where this worker keeps its identity
  std::string device = "cpu";
  int threads = 0;                   // 0: one per core
  double speed = 1;                  // be as slow as this part of one core
  int64_t memory_mb = 0;             // for weights and plans; 0: half of this machine's
  std::filesystem::path store = {};  // a folder for weights, for when it is started again
  int64_t quota_mb = 4096;           // of weights in that folder
  enum class Announce { kIfReachable, kAlways, kNever };
  Announce announce = Announce::kIfReachable;  // by mDNS
  cluster::TasksByName tasks = {};             // that coordinators may begin, beside training
  Emulation emulation = {};
  // Lines about its own state, and about peers; on any thread. Null: not logged.
  std::function<void(const std::string&)> log = nullptr, log_of_peers = nullptr;
  // Called once when the device is lost, on any thread: plans would be deployed to it again and
  // again. Must not destroy the service.
  std::function<void()> lost = nullptr;
};

// How a worker of this identity keeps weights and plans. Fails if its files cannot be opened.
Result<cluster::WorkerOptions> worker_options(const WorkerServiceOptions& options,
                                              const std::shared_ptr<net::Membership>& membership);

// Not thread-safe. make(), listen() and serve() are called in this order, once each.
class WorkerService {
 public:
  // Fails as make_device() does, and if an emulated cluster has no such machine.
  static Result<std::unique_ptr<WorkerService>> make(std::shared_ptr<net::Membership> membership,
                                                     WorkerServiceOptions options);
  // Returns its address, with the port that was chosen. Fails as Transport::listen() does.
  Result<std::string> listen(const std::string& interface);
  // Serves on its own threads until destroyed. Fails as worker_options() does.
  Status serve();

  const std::string& name() const { return name_; }
  bool is_lost() const { return is_lost_; }

 private:
  WorkerService(std::shared_ptr<net::Membership> membership, WorkerServiceOptions options)
      : membership_(std::move(membership)), options_(std::move(options)) {}
  Status make_devices();
  void announce();
  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  const std::shared_ptr<net::Membership> membership_;
  const WorkerServiceOptions options_;
  std::string name_, address_;
  std::atomic<bool> is_lost_ = false;
  std::unique_ptr<Device> device_, learner_;
  std::optional<WorkerDevices> devices_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Listener> listener_;
  std::unique_ptr<cluster::Worker> worker_;
  std::unique_ptr<net::Announcement> announcement_;
  std::unique_ptr<net::RenewalThread> renewal_;
};

}  // namespace shoal::emulate
