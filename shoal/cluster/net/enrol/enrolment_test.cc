#include "shoal/cluster/net/enrol/enrolment.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/endpoint.h"
#include "shoal/cluster/net/enrol/enrolment_wire.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/acceptance.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/dial.h"
#include "shoal/cluster/net/tls/service.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::net {
namespace {

using namespace std::chrono_literals;

class Joining : public testing::Test {
 protected:
  Joining() {
    EnrolmentOptions options;
    options.clock = [this] { return TestCluster::now() + later_.load(); };
    options.told = [this](const Result<Joined>& who) { joined_.put(who); };
    enrolment_ = *serve_enrolment(cluster_.authority(), ":0", std::move(options));
  }
  Token invite(Role role = Role::kWorker) const {
    const Invitations invitations(cluster_.authority());
    return *invitations.invite(enrolment_->address(), TestCluster::now(), role);
  }
  static void expect_refused(const Result<Identity>& result, std::string_view why) {
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find(why), std::string_view::npos)
        << result.status().message();
  }
  // Whatever happened before, an invited device can join.
  void expect_service_goes_on() { EXPECT_TRUE(join(invite(), "last", soon()).ok()); }

  // The devices that joined, as reported to the authority.
  class Roll {
   public:
    void put(const Result<Joined>& who) {
      const std::lock_guard lock(mutex_);
      if (who.ok()) addresses_[who->name] = who->address;
      changed_.notify_all();
    }
    std::string address_of(const std::string& name) {
      std::unique_lock lock(mutex_);
      EXPECT_TRUE(changed_.wait_until(lock, soon(), [&] { return addresses_.contains(name); }));
      return addresses_[name];
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::string> addresses_;
  };

  TestCluster cluster_;
  Roll joined_;
  std::atomic<std::chrono::minutes> later_{0min};
  std::unique_ptr<Enrolment> enrolment_;
};

TEST_F(Joining, GivesACertificateThatOthersAccept) {
  const auto identity = join(invite(), "pi-1", soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->name, "pi-1");
  EXPECT_EQ(identity->cluster, cluster_.authority().cluster());
  Pair pair = connect_pair(*make_tls_transport(*identity), cluster_.transport("right"), ":0");
  EXPECT_EQ(pair.right->peer().name, "pi-1");
  EXPECT_EQ(pair.left->peer().name, "right");
}

TEST_F(Joining, GivesTheRoleOfTheInvitation) {
  for (const Role role : {Role::kWorker, Role::kClient, Role::kCoordinator}) {
    const auto identity = join(invite(role), std::string(to_string(role)), soon());
    ASSERT_TRUE(identity.ok()) << identity.status().message();
    EXPECT_EQ(identity->role, role);
    Pair pair = connect_pair(*make_tls_transport(*identity),
                             cluster_.transport("right", {}, Role::kOwner), ":0");
    EXPECT_EQ(pair.right->peer().role, role);
    EXPECT_EQ(pair.left->peer().role, Role::kOwner);
  }
}

TEST_F(Joining, TellsTheAuthorityWhereToFindHim) {
  ASSERT_TRUE(join(invite(), "pi-1", soon(), {.port = 7070}).ok());
  EXPECT_EQ(joined_.address_of("pi-1"), "127.0.0.1:7070");
  ASSERT_TRUE(join(invite(), "pi-2", soon()).ok());
  EXPECT_EQ(joined_.address_of("pi-2"), "");
}

TEST_F(Joining, WorksOncePerToken) {
  const Token token = invite();
  EXPECT_TRUE(join(token, "pi-1", soon()).ok());
  expect_refused(join(token, "pi-2", soon()), "has been used");
  expect_service_goes_on();
}

// A power cut, a full disk or a lost connection between the answer and its arrival.
TEST_F(Joining, CanBeRepeatedUntilTheNewcomerHasItsIdentity) {
  const Token token = invite();
  std::string first;
  JoinOptions options;
  options.key = *key_to_pem(**make_key());
  options.keep = [&](const Identity& identity, const std::string&) {
    first = identity.certificate;
    return Status(Code::kExhausted, "the disk is full");
  };
  EXPECT_EQ(join(token, "pi-1", soon(), options).status().code(), Code::kExhausted);
  expect_refused(join(token, "pi-2", soon()), "has been used");
  options.keep = nullptr;
  const auto again = join(token, "pi-1", soon(), options);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->certificate, first);
  EXPECT_EQ(joined_.address_of("pi-1"), "");
  expect_refused(join(token, "pi-1", soon(), options), "has been used");
}

TEST_F(Joining, IsNotOfferedByOtherMembers) {
  Service service;
  Terms terms;
  terms.version = kProtocolVersion;
  terms.judge = [](SSL&) -> Result<Peer> { return Peer{"newcomer", ""}; };
  const std::shared_ptr<SSL_CTX> context = *make_enrolment_context(cluster_.identity("spy"));
  const auto spy = std::make_shared<Acceptance>(
      service.io(), [context] { return context; }, terms, TlsOptions{});
  ASSERT_TRUE(spy->open(*listening_endpoint(":0")).ok());
  Token token = invite();
  token.address = spy->address();
  expect_refused(join(token, "pi-1", soon()), "is spy and not the authority");
  spy->close();
}

TEST_F(Joining, WorksForOneOfManyWhoTryAtOnce) {
  const Token token = invite();
  std::atomic<int> joined = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      if (join(token, "pi-" + std::to_string(i), soon()).ok()) ++joined;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(joined, 1);
}

TEST_F(Joining, IsTooLateAfterTheTokensTime) {
  const Token token = invite();
  later_ = kInvitationLifetime;
  expect_refused(join(token, "pi-1", soon()), "has expired");
}

TEST_F(Joining, NeedsTheSecret) {
  Token token = invite();
  token.secret[5] ^= std::byte{1};
  expect_refused(join(token, "pi-1", soon()), "was not made here");
  expect_service_goes_on();
}

TEST_F(Joining, NeedsAProofForThisConnection) {
  // A device that knows the invitation's name, which is no secret, or has seen another's proof.
  const Token token = invite();
  Service service;
  Terms terms;
  terms.version = kProtocolVersion;
  terms.judge = [](SSL&) -> Result<Peer> { return Peer{"authority", ""}; };
  const std::shared_ptr<SSL_CTX> context = *make_anonymous_context();
  auto who = dial(service.io(), token.address, context, terms, soon());
  ASSERT_TRUE(who.ok()) << who.status().message();
  JoinRequest request{*id_of(token.secret), {}, 0, "pi-1", *make_request(**make_key())};
  const Binding elsewhere{};
  request.proof = *prove(token.secret, elsewhere, request);
  FramedChannel channel(std::move(who->stream), who->peer, {}, nullptr);
  EXPECT_TRUE(send(channel, encode(request)).ok());
  const auto frame = channel.receive(soon(), {});
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  const Status refused = decode_join_answer(frame->control).status();
  EXPECT_NE(refused.message().find("secret is wrong"), std::string_view::npos);
  EXPECT_TRUE(join(token, "pi-1", soon()).ok()) << "the token is still good";
}

TEST_F(Joining, TellsAnotherClusterByItsFingerprint) {
  const TestCluster other;
  Token token = invite();
  token.fingerprint = other.authority().fingerprint();
  expect_refused(join(token, "pi-1", soon()), "not the cluster");
  expect_service_goes_on();
}

TEST_F(Joining, RefusesANameThatIsTakenAndKeepsTheToken) {
  EXPECT_TRUE(join(invite(), "pi-1", soon()).ok());
  const Token token = invite();
  expect_refused(join(token, "pi-1", soon()), "pi-1 is taken");
  expect_refused(join(token, "authority", soon()), "authority is taken");
  expect_refused(join(token, "../pi", soon()), "cannot be the name");
  EXPECT_TRUE(join(token, "pi-2", soon()).ok());
}

TEST_F(Joining, TellsVersionsApart) {
  const auto refused = join(invite(), "pi-1", soon(), {.version = 7});
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  expect_refused(refused, "speaks version 2 of the protocol and this is version 7");
  expect_service_goes_on();
}

TEST_F(Joining, GoesOnWhileOthersSayNothing) {
  Service service;
  Terms terms;
  terms.version = kProtocolVersion;
  terms.judge = [](SSL&) -> Result<Peer> { return Peer{"authority", ""}; };
  const std::shared_ptr<SSL_CTX> context = *make_anonymous_context();
  std::vector<Introduced> silent;
  for (int i = 0; i < 40; ++i) {
    auto who = dial(service.io(), enrolment_->address(), context, terms, soon());
    if (who.ok()) silent.push_back(*std::move(who));
  }
  expect_service_goes_on();
}

TEST(JoinWire, SurvivesAnyBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const size_t size = random() % 200;
    const Data bytes = random_bytes(size, random());
    const auto request = decode_join_request(bytes);
    EXPECT_TRUE(!request.ok() || encode(*request) == bytes);
    (void)decode_join_answer(bytes).ok();
  }
}

}  // namespace
}  // namespace shoal::net
