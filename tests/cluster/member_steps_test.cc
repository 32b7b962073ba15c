// The steps of `shoal cluster`, with workers over TLS.
#include "shoal/cluster/members/member_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "served.h"
#include "shoal/cluster/members/invite.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using net::TestCluster;

class MemberSteps : public testing::Test {
 protected:
  static UpkeepOptions at(int days, const std::string& only = "") {
    return {.now = TestCluster::now() + 24h * days, .only = only, .deadline = net::soon()};
  }
  static net::Time end_of_hall(const std::vector<MemberState>& members) {
    const auto hall = std::ranges::find(members, "hall", &MemberState::name);
    return hall != members.end() ? hall->expires : net::Time();
  }

  net::TestFolder folder_;
  const ClusterFolder owner_ = *ClusterFolder::create(folder_.path() / "c", TestCluster::now());
  const ClusterFolder guest_{folder_.path() / "guest"};
  Served hall_{owner_, folder_.path() / "hall", "hall"};
};

TEST_F(MemberSteps, SurveysMembersAsTheyAreAfterTheVisit) {
  const net::Time before = end_of_hall(*owner_.members());
  const auto survey = survey_members(owner_, at(60));
  ASSERT_TRUE(survey.ok()) << survey.status().message();
  ASSERT_EQ(survey->visits.size(), 1u);
  EXPECT_TRUE(survey->visits[0].renewed) << survey->visits[0].status.message();
  EXPECT_GT(end_of_hall(survey->members), before) << "they were read before it was renewed";
  EXPECT_FALSE(survey_members(guest_).ok()) << "there is no cluster";
}

TEST_F(MemberSteps, RenewsBeforeTheTimeAndOnlyWhoIsListed) {
  const auto all = renew_workers(owner_, at(1));
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), 1u);
  EXPECT_TRUE(all->front().renewed);
  EXPECT_EQ(renew_workers(owner_, at(2, "hall"))->size(), 1u);
  EXPECT_EQ(renew_workers(owner_, at(2, "attic")).status().message(), "no worker attic is listed");
  ASSERT_TRUE(owner_.remove("hall", TestCluster::now()).ok());
  const auto none = renew_workers(owner_, at(2));
  ASSERT_TRUE(none.ok()) << "that nobody is listed is no failure";
  EXPECT_TRUE(none->empty());
}

TEST_F(MemberSteps, RemovesAndTellsWhoIsLeft) {
  const Served attic(owner_, folder_.path() / "attic", "attic");
  const auto removal = remove_member(owner_, "hall", at(0));
  ASSERT_TRUE(removal.ok()) << removal.status().message();
  EXPECT_TRUE(removal->revoked);
  ASSERT_EQ(removal->visits.size(), 1u);
  EXPECT_EQ(removal->visits[0].name, "attic");
  EXPECT_TRUE(removal->visits[0].status.ok()) << removal->visits[0].status.message();
  EXPECT_FALSE(remove_member(owner_, "nobody", at(0)).ok());
}

TEST_F(MemberSteps, JoinsAsTheTokenSaysAndThenRemovesFromItsListOnly) {
  Notification over;
  const auto invitation = *OpenInvitation::serve(
      owner_, *owner_.authority(), ":0", [](const std::string&) {}, over);
  const std::string text = to_string(*invitation->invite({.role = net::Role::kCoordinator}));
  EXPECT_EQ(token_to_join(guest_, "no token").status().code(),
            net::parse_token("no token").status().code());
  EXPECT_EQ(token_to_join(owner_, text).status().message(),
            owner_.path().string() + " has a cluster of its own");
  const auto token = token_to_join(guest_, text);
  ASSERT_TRUE(token.ok()) << token.status().message();
  const auto identity = join_cluster(guest_, *token, "desk", net::soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->role, net::Role::kCoordinator);
  EXPECT_EQ(guest_.coordinator()->name, "desk") << "it coordinates by that identity";

  ASSERT_TRUE(guest_.add({"hall", "127.0.0.1:1"}).ok());
  const auto removal = remove_member(guest_, "hall", at(0));
  ASSERT_TRUE(removal.ok()) << removal.status().message();
  EXPECT_FALSE(removal->revoked);
  EXPECT_TRUE(removal->visits.empty());
  EXPECT_TRUE(guest_.workers()->empty());
}

}  // namespace
}  // namespace shoal::cluster
