// Who is invited joins, over TLS, and is listed.
#include "shoal/cluster/members/invite.h"

#include <gtest/gtest.h>

#include "here.h"
#include "shoal/cluster/members/discovered.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using End = OpenInvitation::End;

class Inviting : public testing::Test {
 protected:
  Result<std::unique_ptr<OpenInvitation>> serve(const std::string& listen = ":0") {
    return OpenInvitation::serve(folder_, *folder_.authority(), listen, log(), over_);
  }
  Log log() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line + "\n";
    };
  }
  std::string logged() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  net::TestFolder files_;
  const ClusterFolder folder_ =
      *ClusterFolder::create(files_.path() / "owner", net::TestCluster::now());
  Notification over_;
  std::mutex mutex_;
  std::string log_;
};

TEST_F(Inviting, ListsWhoSaysWhereItListens) {
  const auto invitation = *serve();
  const auto token = invitation->invite({});
  ASSERT_TRUE(token.ok()) << token.status().message();
  ASSERT_TRUE(net::join(*token, "hall", net::soon(), {.port = 7070}).ok());
  const auto end = invitation->wait();
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(*end, End::kJoined);
  ASSERT_EQ(folder_.workers()->size(), 1u);
  EXPECT_EQ(folder_.workers()->front().name, "hall");
  EXPECT_EQ(logged(), "joined: hall " + folder_.workers()->front().address + "\n");
}

TEST_F(Inviting, LetsJoinWhoDoesNot) {
  const auto invitation = *serve();
  const auto token = invitation->invite({.role = net::Role::kClient});
  const auto identity = net::join(*token, "phone", net::soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->role, net::Role::kClient);
  EXPECT_EQ(*invitation->wait(), End::kJoined);
  EXPECT_TRUE(folder_.workers()->empty());
  EXPECT_EQ(logged(), "joined: phone (not listed: it did not say where it listens)\n");
}

TEST_F(Inviting, EndsWhenItIsStoppedOrTheTokenHasExpired) {
  const auto expiring = *serve();
  ASSERT_TRUE(expiring->invite({.lifetime = 0s}).ok());
  EXPECT_EQ(*expiring->wait(), End::kExpired);
  const auto stopped = *serve();
  ASSERT_TRUE(stopped->invite({}).ok());
  over_.notify();
  EXPECT_EQ(*stopped->wait(), End::kStopped);
}

TEST_F(Inviting, AsksForAnAddressThatOthersCanUse) {
  const auto everywhere = *serve("0.0.0.0:0");
  EXPECT_EQ(everywhere->invite({}).status().code(), Code::kInvalidArgument);
  const auto token = everywhere->invite({.address = "192.0.2.1:7071"});
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_EQ(token->address, "192.0.2.1:7071");
  EXPECT_FALSE(serve("nowhere").ok());
}

TEST_F(Inviting, SaysWhatToDoOnTheNewDevice) {
  EXPECT_EQ(instructions_for({.lifetime = 120s}),
            (std::vector<std::string>{"on the new device, within 2 minutes:",
                                      "  shoal worker --listen ADDRESS:7070 --join-file -"}));
  for (const net::Role role : {net::Role::kCoordinator, net::Role::kClient}) {
    EXPECT_EQ(instructions_for({.role = role})[1], "  shoal cluster join NAME --join-file -");
  }
}

TEST_F(Inviting, RefusesThoseWithoutAToken) {
  const auto invitation = *serve();
  net::Token token = *invitation->invite({});
  token.secret[0] ^= std::byte{1};
  EXPECT_FALSE(net::join(token, "thief", net::soon()).ok());
  EXPECT_TRUE(eventually([&] { return logged().find("refused: ") == 0; })) << logged();
  over_.notify();
  EXPECT_EQ(*invitation->wait(), End::kStopped);
}

TEST_F(Inviting, RenewalsListWhoJoinsToo) {
  const net::Authority authority = *folder_.authority();
  const auto service = serve_renewals(folder_, authority, ":0", log());
  ASSERT_TRUE(service.ok()) << service.status().message();
  const auto token =
      net::Invitations(authority).invite((*service)->address(), net::TestCluster::now());
  ASSERT_TRUE(net::join(*token, "hall", net::soon(), {.port = 7070}).ok());
  EXPECT_TRUE(eventually([&] { return logged() == "joined: hall\n"; })) << logged();
  EXPECT_EQ(folder_.workers()->size(), 1u);
}

}  // namespace
}  // namespace shoal::cluster
