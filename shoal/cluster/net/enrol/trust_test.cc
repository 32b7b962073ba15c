#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "shoal/cluster/net/enrol/authority.h"
#include "shoal/cluster/net/enrol/invitation.h"
#include "shoal/cluster/net/hex.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/identity.h"

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

TEST(Authority, GivesEachNameToOneKey) {
  const TestCluster cluster;
  const auto request = make_request(**make_key());
  const auto other = make_request(**make_key());
  const Authority& authority = cluster.authority();
  const Time now = TestCluster::now();
  const auto first = authority.sign(*request, "pi-1", now);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(*authority.sign(*request, "pi-1", now), *first) << "an answer that was lost";
  const auto second = authority.sign(*other, "pi-1", now);
  EXPECT_EQ(second.status().message(), "the name pi-1 is taken in this cluster");
  EXPECT_FALSE(authority.sign(*request, "authority", now).ok());
  ASSERT_TRUE(authority.revoke("pi-1", now).ok());
  EXPECT_TRUE(authority.sign(*other, "pi-1", now).ok()) << "the name is free again";
  const auto removed = authority.sign(*request, "pi-2", now);
  EXPECT_NE(removed.status().message().find("was removed"), std::string_view::npos);
  EXPECT_EQ(authority.revoke("../authority", now).status().code(), Code::kNotFound);
  EXPECT_EQ(authority.revoke("pi-3", now).status().code(), Code::kNotFound);
}

TEST(Authority, RenewsTheKeyAndTheRoleThatItKnows) {
  const TestCluster cluster;
  const Authority& authority = cluster.authority();
  const Time now = TestCluster::now();
  const Identity desk = cluster.identity("desk", Role::kCoordinator);
  const auto own = make_request(**key_from_pem(desk.key));
  const auto renewed = authority.renew("desk", *own, now + 24h * 80);
  ASSERT_TRUE(renewed.ok()) << renewed.status().message();
  const auto identity = make_identity(*renewed, desk.key, desk.authority);
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->role, Role::kCoordinator);
  EXPECT_GT(validity_of(*identity)->to, validity_of(desk)->to);
  EXPECT_FALSE(authority.renew("desk", *make_request(**make_key()), now).ok());
  ASSERT_TRUE(authority.revoke("desk", now).ok());
  EXPECT_EQ(authority.renew("desk", *own, now).status().code(), Code::kNotFound);
  EXPECT_EQ(authority.renew("desk", now).status().code(), Code::kNotFound);
}

TEST(Authority, TakesADamagedRecordForNone) {
  const TestCluster cluster;
  const auto request = make_request(**make_key());
  const Authority& authority = cluster.authority();
  ASSERT_TRUE(authority.sign(*request, "pi-1", TestCluster::now()).ok());
  std::ofstream(authority.folder() / "peers" / "pi-1.pem", std::ios::trunc);
  EXPECT_TRUE(authority.sign(*make_request(**make_key()), "pi-1", TestCluster::now()).ok());
}

TEST(Authority, IsMadeByOneOfManyAtOnce) {
  const TestFolder folder;
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      if (Authority::create(folder.path() / "here", TestCluster::now()).ok()) ++made;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(Authority::open(folder.path() / "here").ok());
}

TEST(Authority, KnowsItsMembers) {
  const TestCluster cluster;
  cluster.identity("b");
  cluster.identity("a", Role::kClient);
  cluster.identity("authority", Role::kOwner);
  const auto members = Authority::members_in(cluster.authority().folder());
  ASSERT_TRUE(members.ok());
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ(members->front().name, "a");
  EXPECT_EQ(members->front().role, Role::kClient);
}

TEST(Authority, RefusesAKeyThatOthersCanRead) {
  const TestCluster cluster;
  const auto& folder = cluster.authority().folder();
  fs::permissions(folder / "authority-key.pem", fs::perms::others_read, fs::perm_options::add);
  const auto opened = Authority::open(folder);
  EXPECT_EQ(opened.status().code(), Code::kInvalidArgument);
  EXPECT_NE(opened.status().message().find("by others"), std::string_view::npos);
  const TestFolder own;
  ASSERT_TRUE(save(cluster.identity("a"), own.path() / "a").ok());
  fs::permissions(own.path() / "a" / "key.pem", fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(load_identity(own.path() / "a").status().code(), Code::kInvalidArgument);
}

// What a certificate's owner does at which time. Ninety days from the first on, as they are given,
// with a day before it for clocks that are behind.
TEST(Certificate, IsRenewedAtTwoThirdsOfItsTime) {
  const Time start = TestCluster::now();
  const Validity validity{start - 24h, start + kPeerLifetime};
  EXPECT_EQ(standing_of(validity, start), Standing::kGood);
  EXPECT_EQ(standing_of(validity, start + 24h * 59), Standing::kGood);
  EXPECT_EQ(standing_of(validity, start + 24h * 60), Standing::kDue);
  EXPECT_EQ(standing_of(validity, start + 24h * 89), Standing::kDue);
  EXPECT_EQ(standing_of(validity, start + 24h * 91), Standing::kExpired);
  EXPECT_EQ(standing_of(validity, start + 24h * 400), Standing::kExpired);
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

// Power may go between any two files.
TEST(Identity, IsJoinedAgainWhereItIsHalfWritten) {
  const TestCluster cluster;
  const TestFolder folder;
  const Identity whole = cluster.identity("pi-1");
  for (const std::string missing : {"key.pem", "authority.pem", "certificate.pem"}) {
    const fs::path own = folder.path() / missing;
    ASSERT_TRUE(save(whole, own).ok());
    fs::remove(own / missing);
    EXPECT_EQ(load_identity(own).status().code(), Code::kNotFound) << missing;
    const auto key = load_or_make_key(own);
    ASSERT_TRUE(key.ok()) << key.status().message();
    EXPECT_EQ(*key == whole.key, missing != "key.pem");
    EXPECT_EQ(*load_or_make_key(own), *key) << "the same the next time";
  }
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

TEST(Invitations, AreClaimedByOneKey) {
  const TestCluster cluster;
  const Invitations invitations(cluster.authority());
  const auto id = id_of(invitations.invite("host:1", TestCluster::now())->secret);
  const Fingerprint first{}, second{std::byte{1}};
  EXPECT_TRUE(invitations.claim(*id, first).ok());
  EXPECT_TRUE(invitations.claim(*id, first).ok());
  EXPECT_FALSE(invitations.claim(*id, second).ok());
  invitations.give_up(*id);
  EXPECT_TRUE(invitations.claim(*id, second).ok());
}

TEST(Invitations, AreForgottenWhenTheyAreOver) {
  const TestCluster cluster;
  const Invitations invitations(cluster.authority());
  const Time now = TestCluster::now();
  const auto used = id_of(invitations.invite("host:1", now)->secret);
  EXPECT_TRUE(invitations.claim(*used, {}).ok());
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
