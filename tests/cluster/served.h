// A worker of a cluster over TLS, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/tls/tls.h"
#include "shoal/cluster/worker/worker.h"
#include "shoal/engine/device/device.h"

namespace shoal::cluster {

inline std::unique_ptr<net::Transport> transport_of(
    const std::shared_ptr<net::Membership>& membership) {
  net::TlsOptions tls;
  tls.membership = membership;
  tls.channel.beat = std::chrono::minutes(1);  // no peer is lost because this machine is busy
  return *net::make_tls_transport(membership->identity(), std::move(tls));
}

// A worker over TLS, with its files.
class Served {
 public:
  Served(const ClusterFolder& owner, const std::filesystem::path& folder, const std::string& name) {
    EXPECT_TRUE(net::save(*owner.authority()->issue(name, net::TestCluster::now()), folder).ok());
    membership_ = *net::Membership::open(folder);
    transport_ = transport_of(membership_);
    WorkerOptions options;
    options.name = name;
    options.membership = membership_;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line + "\n";
    };
    worker_ = std::make_unique<Worker>(std::move(options), *device_, *transport_);
    auto listener = *transport_->listen(":0");
    EXPECT_TRUE(owner.add({name, listener->address()}).ok());
    worker_->serve(std::move(listener));
  }

  net::Membership& membership() { return *membership_; }
  net::Transport& transport() { return *transport_; }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  const std::unique_ptr<Device> device_ = make_reference_device();
  std::shared_ptr<net::Membership> membership_;
  std::unique_ptr<net::Transport> transport_;
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<Worker> worker_;  // last: it ends first
};

}  // namespace shoal::cluster
