// The owner of a cluster meets its workers, over TLS.
#include "shoal/cluster/members/member_upkeep.h"

#include <gtest/gtest.h>

#include "here.h"
#include "random_plan.h"
#include "served.h"
#include "shoal/plan/search/choices.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using net::TestCluster;

class Upkeep : public testing::Test {
 protected:
  std::vector<MemberVisit> visit(UpkeepOptions options = {}) {
    options.deadline = net::soon();
    return visit_workers(owner_, *owner_.workers(), *transport_, options);
  }
  static net::Time later(int days) { return TestCluster::now() + 24h * days; }

  net::TestFolder folder_;
  const ClusterFolder owner_ = *ClusterFolder::create(folder_.path() / "c", TestCluster::now());
  const std::unique_ptr<net::Transport> transport_ = transport_of(*owner_.membership());
  Served hall_{owner_, folder_.path() / "hall", "hall"};
};

TEST_F(Upkeep, RenewsWorkersWhoseTimeHasCome) {
  const net::Time before = hall_.membership().validity()->to;
  auto visits = visit({.now = later(59)});
  ASSERT_EQ(visits.size(), 1u);
  EXPECT_TRUE(visits[0].status.ok()) << visits[0].status.message();
  EXPECT_FALSE(visits[0].renewed);
  visits = visit({.now = later(60)});
  EXPECT_TRUE(visits[0].renewed) << visits[0].status.message();
  EXPECT_GT(hall_.membership().validity()->to, before);
  EXPECT_EQ(net::load_identity(folder_.path() / "hall")->certificate,
            hall_.membership().identity().certificate);
  EXPECT_NE(hall_.log().find("renewed: by coordinator"), std::string::npos) << hall_.log();
}

TEST_F(Upkeep, RenewsOneOrAllBeforeTheirTime) {
  Served attic(owner_, folder_.path() / "attic", "attic");
  const auto one = visit({.now = later(1), .only = "attic", .renew_all = true});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one[0].renewed && one[0].name == "attic") << one[0].status.message();
  for (const MemberVisit& each : visit({.now = later(2), .renew_all = true}))
    EXPECT_TRUE(each.renewed) << each.status.message();
}

TEST_F(Upkeep, FindsWorkersByTheFolderAlone) {
  const auto visits =
      visit_workers(owner_, {.now = later(1), .renew_all = true, .deadline = net::soon()});
  ASSERT_TRUE(visits.ok()) << visits.status().message();
  ASSERT_EQ(visits->size(), 1u);
  EXPECT_TRUE(visits->front().renewed) << visits->front().status.message();
  EXPECT_FALSE(visit_workers(ClusterFolder(folder_.path() / "nowhere"), {}).ok());
  EXPECT_FALSE(renew_by_asking(owner_, net::soon()).ok()) << "it has joined nobody";
}

TEST_F(Upkeep, TellsAllWhoWasRemovedAndHearsWhoWasRefused) {
  Served thief(owner_, folder_.path() / "thief", "thief");
  const std::string address = owner_.workers()->front().address;
  auto stolen = thief.transport().connect(address, net::soon());
  ASSERT_TRUE(stolen.ok()) << stolen.status().message();
  ASSERT_TRUE(owner_.remove("thief", TestCluster::now()).ok());
  auto visits = visit();
  ASSERT_EQ(visits.size(), 1u) << "the removed one is not listed";
  EXPECT_TRUE(visits[0].status.ok()) << visits[0].status.message();
  EXPECT_EQ((*stolen)->receive(net::soon()).status().code(), Code::kUnavailable);
  EXPECT_FALSE(thief.transport().connect(address, net::soon()).ok());
  ASSERT_TRUE(eventually([&] {
    visits = visit();
    return !visits[0].refused.empty();
  }));
  EXPECT_NE(visits[0].refused.back().find("thief: was removed"), std::string::npos);
  EXPECT_NE(hall_.log().find("connected: thief (127.0.0.1:"), std::string::npos) << hall_.log();
}

// It makes no new connection, by which it would learn of it.
TEST_F(Upkeep, TellsCoordinatorsThatStayConnected) {
  const Served thief(owner_, folder_.path() / "thief", "thief");
  const auto desk = *net::Membership::make(
      *owner_.authority()->issue("desk", TestCluster::now(), {.role = net::Role::kCoordinator}));
  const auto transport = transport_of(desk);
  const auto coordinator = Coordinator::connect(*owner_.workers(), *transport);
  ASSERT_TRUE(coordinator.ok()) << coordinator.status().message();
  const Graph graph = wide_layers();
  const auto plan = plan::make_plan_for({0}, graph, slow_workers(2), {});
  const auto remote = (*coordinator)->deploy(plan->scheduled);
  ASSERT_TRUE(remote.ok()) << remote.status().message();
  const auto run = [&] {
    plan::Rng rng(1);
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    return (*remote)->run(inputs, outputs, 20s);
  };
  EXPECT_TRUE(run().ok());
  ASSERT_TRUE(owner_.remove("thief", TestCluster::now()).ok());
  visit();
  EXPECT_TRUE(run().ok());
  EXPECT_TRUE(eventually([&] { return (*coordinator)->lost() == std::vector<int>{1}; }));
  EXPECT_EQ(desk->denied()->counter(), 1u);
}

TEST_F(Upkeep, NamesWhoIsNotThere) {
  ASSERT_TRUE(owner_.add({"gone", "127.0.0.1:1"}).ok());
  const auto visits = visit();
  ASSERT_EQ(visits.size(), 2u);
  EXPECT_TRUE(visits[0].status.ok());
  EXPECT_NE(visits[1].status.message().find("gone"), std::string_view::npos);
}

}  // namespace
}  // namespace shoal::cluster
