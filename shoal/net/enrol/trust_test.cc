#include <gtest/gtest.h>

#include <filesystem>

#include "shoal/net/enrol/authority.h"
#include "shoal/net/enrol/invitation.h"
#include "shoal/net/hex.h"
#include "shoal/net/test_peers.h"
#include "shoal/net/tls/certificate.h"
#include "shoal/net/tls/identity.h"

namespace shoal::net {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;

TEST(Authority, KeepsItsKeyToItself) {
  const TestCluster cluster;
  const auto& folder = cluster.authority().folder();
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder / "authority-key.pem").permissions(), kOwnerOnly);
}

TEST(Authority, IsTheSameWhenOpenedAgain) {
  const TestCluster cluster;
  const auto again = Authority::open(cluster.authority().folder());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->cluster(), cluster.authority().cluster());
  EXPECT_EQ(again->fingerprint(), cluster.authority().fingerprint());
}

TEST(Authority, DoesNotReplaceAnother) {
  const TestCluster cluster;
  const auto second = Authority::create(cluster.authority().folder(), TestCluster::now());
  EXPECT_EQ(second.status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Authority::open(cluster.authority().folder()).ok());
}

TEST(Authority, GivesEachNameOnceToThoseWhoAsk) {
  const TestCluster cluster;
  const auto key = make_key();
  const auto request = make_request(**key);
  const Authority& authority = cluster.authority();
  EXPECT_TRUE(authority.sign(*request, "pi-1", TestCluster::now()).ok());
  const auto second = authority.sign(*request, "pi-1", TestCluster::now());
  EXPECT_EQ(second.status().message(), "the name pi-1 is taken in this cluster");
  EXPECT_TRUE(authority.forget("pi-1").ok());
  EXPECT_TRUE(authority.sign(*request, "pi-1", TestCluster::now()).ok());
  EXPECT_EQ(authority.forget("../authority").code(), Code::kNotFound);
  EXPECT_EQ(authority.forget("pi-2").code(), Code::kNotFound);
}

TEST(Authority, SignsForProperNamesAndRequestsOnly) {
  const TestCluster cluster;
  const auto key = make_key();
  const auto request = make_request(**key);
  for (const char* name : {"", ".", "..", "-a", "a/b", "a b", "a\nb", "\xc3\xa4"})
    EXPECT_FALSE(cluster.authority().sign(*request, name, TestCluster::now()).ok()) << name;
  const std::string longest(63, 'a');
  EXPECT_FALSE(cluster.authority().sign(*request, longest + "a", TestCluster::now()).ok());
  EXPECT_TRUE(cluster.authority().sign(*request, longest, TestCluster::now()).ok());
  EXPECT_FALSE(cluster.authority().sign("no request", "a", TestCluster::now()).ok());
}

TEST(Authority, RefusesARequestThatWasNotSignedWithItsKey) {
  const TestCluster cluster;
  const auto request = make_request(**make_key());
  int refused = 0;
  for (size_t at = request->size() / 2; at < request->size() / 2 + 20; ++at) {
    std::string changed = *request;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    if (!cluster.authority().sign(changed, "name" + std::to_string(at), TestCluster::now()).ok())
      ++refused;
  }
  EXPECT_GE(refused, 19);  // one change may be none, where a line ends
}

TEST(Identity, IsTheSameAfterItWasStored) {
  const TestCluster cluster;
  const TestFolder folder;
  const Identity identity = cluster.identity("pi-1");
  EXPECT_EQ(identity.name, "pi-1");
  EXPECT_EQ(identity.cluster, cluster.authority().cluster());
  ASSERT_TRUE(save(identity, folder.path() / "own").ok());
  EXPECT_EQ(fs::status(folder.path() / "own" / "key.pem").permissions(), kOwnerOnly);
  const auto again = load_identity(folder.path() / "own");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->name, identity.name);
  EXPECT_EQ(again->key, identity.key);
}

TEST(Identity, SaysItsRole) {
  const TestCluster cluster;
  for (const Role role : {Role::kWorker, Role::kClient, Role::kCoordinator, Role::kOwner})
    EXPECT_EQ(cluster.identity("a", role).role, role);
  for (const Role role : {Role::kWorker, Role::kOwner})
    EXPECT_EQ(parse_role(to_string(role)), role);
  EXPECT_FALSE(parse_role("king").has_value());
}

TEST(Identity, IsMadeOfPartsThatBelongTogether) {
  const TestCluster cluster;
  const TestCluster other;
  const Identity a = cluster.identity("a");
  const Identity b = cluster.identity("b");
  EXPECT_FALSE(make_identity(a.certificate, b.key, a.authority).ok());
  EXPECT_FALSE(make_identity(a.certificate, a.key, other.identity("a").authority).ok());
  EXPECT_FALSE(make_identity("", a.key, a.authority).ok());
  EXPECT_FALSE(load_identity("/no/such/folder").ok());
}

TEST(Token, IsTheSameAsText) {
  const TestCluster cluster;
  const auto token = Invitations(cluster.authority()).invite("[::1]:7071", TestCluster::now());
  ASSERT_TRUE(token.ok());
  const auto again = parse_token(to_string(*token));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->address, "[::1]:7071");
  EXPECT_EQ(again->fingerprint, token->fingerprint);
  EXPECT_EQ(again->secret, token->secret);
}

TEST(Token, IsNotAnyText) {
  const TestCluster cluster;
  const std::string text =
      to_string(*Invitations(cluster.authority()).invite("host:1", TestCluster::now()));
  for (size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(parse_token(text.substr(0, n)).ok()) << n;
  EXPECT_FALSE(parse_token(text + "0").ok());
  EXPECT_FALSE(parse_token("shoal2" + text.substr(6)).ok());
}

TEST(Invitations, EndWithTheirTime) {
  const TestCluster cluster;
  const Invitations invitations(cluster.authority());
  const Time now = TestCluster::now();
  const auto id = id_of(invitations.invite("host:1", now, Role::kWorker, 10min)->secret);
  EXPECT_TRUE(invitations.look_up(*id, now + 9min).ok());
  const Status expired = invitations.look_up(*id, now + 10min).status();
  EXPECT_NE(expired.message().find("expired"), std::string_view::npos);
}

TEST(Invitations, SayTheRole) {
  const TestCluster cluster;
  const Invitations invitations(cluster.authority());
  const Time now = TestCluster::now();
  for (const Role role : {Role::kWorker, Role::kClient, Role::kCoordinator}) {
    const auto id = id_of(invitations.invite("host:1", now, role)->secret);
    EXPECT_EQ(invitations.look_up(*id, now)->role, role);
  }
  EXPECT_FALSE(invitations.invite("host:1", now, Role::kOwner).ok());
}

TEST(Invitations, AreGoodForOnce) {
  const TestCluster cluster;
  const Invitations invitations(cluster.authority());
  const Time now = TestCluster::now();
  const auto id = id_of(invitations.invite("host:1", now)->secret);
  EXPECT_TRUE(invitations.use(*id).ok());
  EXPECT_FALSE(invitations.use(*id).ok());
  EXPECT_NE(invitations.look_up(*id, now).status().message().find("used"), std::string_view::npos);
}

TEST(Invitations, AreForgottenWhenTheyAreOver) {
  const TestCluster cluster;
  const Invitations invitations(cluster.authority());
  const Time now = TestCluster::now();
  const auto used = id_of(invitations.invite("host:1", now)->secret);
  EXPECT_TRUE(invitations.use(*used).ok());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(invitations.invite("host:1", now).ok());
  EXPECT_TRUE(invitations.invite("host:1", now + 24h).ok());
  const fs::directory_iterator left(cluster.authority().folder() / "invitations");
  EXPECT_EQ(std::distance(left, {}), 1);
}

TEST(Hex, IsTheSameBackAndForth) {
  const Data bytes = random_bytes(100, 1);
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_FALSE(from_hex("abc").has_value());
  EXPECT_FALSE(from_hex("0g").has_value());
}

}  // namespace
}  // namespace shoal::net
