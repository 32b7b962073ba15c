// Who a worker is, at its first start and at later ones.
#include "shoal/cluster/net/enrol/worker_membership.h"

#include <gtest/gtest.h>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

class WorkerMembership : public testing::Test {
 protected:
  // A cluster that takes newcomers.
  struct Owner {
    TestCluster cluster;
    std::unique_ptr<Enrolment> enrolment = *serve_enrolment(cluster.authority(), ":0", {});

    std::string invite(Role role = Role::kWorker) const {
      return to_string(*Invitations(cluster.authority())
                            .invite(enrolment->address(), std::chrono::system_clock::now(), role));
    }
  };

  Result<std::shared_ptr<Membership>> open(const std::string& token,
                                           std::chrono::hours later = {}) {
    return open_worker_membership(
        {.folder = folder_.path() / "worker",
         .token = token,
         .name = "pi-1",
         .listen = "127.0.0.1:0",
         .clock = [later] { return std::chrono::system_clock::now() + later; },
         .log = [this](const std::string& line) { log_ += line; }});
  }
  static void expect_refused(const Result<std::shared_ptr<Membership>>& result,
                             std::string_view why) {
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find(why), std::string_view::npos)
        << result.status().message();
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  Owner owner_;
  std::string log_;
};

TEST_F(WorkerMembership, ComesFromATokenOnceAndFromTheFolderThen) {
  expect_refused(open(""), "belongs to no cluster");
  const std::string token = owner_.invite();
  for (const std::string& given : {token, token, std::string()}) {
    const auto membership = open(given);
    ASSERT_TRUE(membership.ok()) << membership.status().message();
    EXPECT_EQ((*membership)->identity().name, "pi-1");
  }
  EXPECT_NE(log_.find("its port is another at every start"), log_.npos);
}

TEST_F(WorkerMembership, IsNotThatOfAnotherClusterOrRole) {
  ASSERT_TRUE(open(owner_.invite()).ok());
  const Owner other;
  expect_refused(open(other.invite()), "the token is of another");
  expect_refused(open("no token"), "not a token");
}

TEST_F(WorkerMembership, IsForWorkers) {
  expect_refused(open(owner_.invite(Role::kClient)), "no worker");
}

TEST_F(WorkerMembership, ThatHasExpiredTakesANewTokenAndKeepsItsName) {
  constexpr std::chrono::hours kYears{24 * 366 * 20};
  ASSERT_TRUE(open(owner_.invite()).ok());
  expect_refused(open("", kYears), "has expired");
  const auto again = open(owner_.invite(), kYears);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->identity().name, "pi-1");
}

}  // namespace
}  // namespace shoal::net
