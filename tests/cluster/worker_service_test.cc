// This machine as a worker: its resources, and that a cluster reaches it.
#include "shoal/cluster/emulate/workers/worker_service.h"

#include <gtest/gtest.h>

#include "here.h"
#include "shoal/base/machine/machine.h"
#include "shoal/cluster/members/discovered.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/profiling/worker_probe.h"

namespace shoal::emulate {
namespace {

class Serving : public testing::Test {
 protected:
  std::shared_ptr<net::Membership> member(const std::string& name) {
    EXPECT_TRUE(net::save(*owner_.authority()->issue(name, net::TestCluster::now()), own_).ok());
    return *net::Membership::open(own_);
  }
  WorkerServiceOptions options() const { return {.folder = own_, .device = "reference"}; }

  net::TestFolder files_;
  const std::filesystem::path own_ = files_.path() / "hall";
  const cluster::ClusterFolder owner_ =
      *cluster::ClusterFolder::create(files_.path() / "owner", net::TestCluster::now());
};

TEST_F(Serving, AnswersMembersOfItsCluster) {
  const auto service = WorkerService::make(member("hall"), options());
  ASSERT_TRUE(service.ok()) << service.status().message();
  EXPECT_EQ((*service)->name(), "hall");
  const auto address = (*service)->listen("127.0.0.1:0");
  ASSERT_TRUE(address.ok()) << address.status().message();
  const Status served = (*service)->serve();
  ASSERT_TRUE(served.ok()) << served.message();
  net::TlsOptions tls;
  tls.membership = *owner_.membership();
  const auto transport = *net::make_tls_transport(tls.membership->identity(), tls);
  auto probe = cluster::WorkerProbe::open({"hall", *address}, *transport);
  ASSERT_TRUE(probe.ok()) << probe.status().message();
  EXPECT_TRUE(probe->state().ok());
  EXPECT_FALSE((*service)->is_lost());

  // Who is found on the network is listed if it is a member in its own name.
  std::vector<std::string> told;
  const Status listed = cluster::list_members(
      owner_, {{.name = "hall", .address = *address}, {.name = "king", .address = *address}},
      *transport, [&](const cluster::ListedWorker& worker, const Status& member) {
        told.push_back(worker.name + (member.ok() ? " is" : " is not"));
      });
  ASSERT_TRUE(listed.ok()) << listed.message();
  EXPECT_EQ(told, (std::vector<std::string>{"hall is", "king is not"}));
  EXPECT_EQ(*owner_.workers(), (std::vector<cluster::ListedWorker>{{"hall", *address}}));
}

TEST_F(Serving, TakesWhatItMayOfThisMachine) {
  const auto membership = member("hall");
  WorkerServiceOptions given = options();
  given.memory_mb = 100;
  auto made = worker_options(given, membership);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->name, "hall");
  EXPECT_EQ(made->weight_bytes, size_t{50} << 20) << "weights are kept twice";
  EXPECT_EQ(made->plan_bytes, size_t{50} << 20);
  EXPECT_FALSE(made->cache.has_value());
  given.memory_mb = 0;
  given.store = files_.path() / "weights";
  made = worker_options(given, membership);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->weight_bytes, static_cast<size_t>(physical_memory_bytes() / 2) / 2);
  EXPECT_TRUE(made->cache.has_value());
}

TEST_F(Serving, RefusesDevicesAndPlacesThatAreNone) {
  WorkerServiceOptions given = options();
  given.device = "what";
  EXPECT_FALSE(WorkerService::make(member("hall"), given).ok());
  given = options();
  given.emulation.cluster = cluster::slow_workers(2);
  given.emulation.media = files_.path();
  EXPECT_FALSE(WorkerService::make(member("hall"), given).ok()) << "no such device is emulated";
  const auto service = *WorkerService::make(member("hall"), options());
  EXPECT_FALSE(service->listen("nowhere").ok());
}

}  // namespace
}  // namespace shoal::emulate
