// The life of a certificate: renewed, revoked, expired, joined anew. Clocks are the tests'.
#include "shoal/cluster/net/tls/membership.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/cluster/net/enrol/renewal.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

using namespace std::chrono_literals;
using MembershipPtr = std::shared_ptr<Membership>;

constexpr auto kDay = 24h;

class Members : public testing::Test {
 protected:
  std::function<Time()> clock() const {
    return [this] { return start_ + days_.load() * kDay; };
  }
  void set_day(int day) { days_ = day; }
  MembershipPtr member(const std::string& name, Role role = Role::kWorker) const {
    return *Membership::make(*cluster_.authority().issue(name, clock()(), {.role = role}),
                             {.clock = clock()});
  }
  static std::unique_ptr<Transport> transport(const MembershipPtr& member) {
    TlsOptions options;
    options.membership = member;
    options.channel.beat = 1min;  // no peer is lost because this machine is busy
    return *make_tls_transport(member->identity(), std::move(options));
  }
  std::string remove(const std::string& name) const {
    const auto list = cluster_.authority().revoke(name, clock()());
    EXPECT_TRUE(list.ok()) << list.status().message();
    return list->text();
  }
  // Whether both ends accept each other.
  static Status meet(const MembershipPtr& from, const MembershipPtr& to) {
    const auto there = transport(to);
    const auto listener = there->listen(":0");
    const auto here = transport(from);
    SHOAL_ASSIGN(const auto channel, here->connect((*listener)->address(), soon()));
    SHOAL_ASSIGN(const auto accepted, (*listener)->accept(soon()));
    SHOAL_TRY(send(*accepted, bytes_of("hello")));
    return channel->receive(soon()).status();
  }

  const Time start_ = TestCluster::now();
  std::atomic<int> days_ = 0;
  TestCluster cluster_;
};

TEST_F(Members, WhoAreRemovedLoseTheirChannels) {
  const MembershipPtr server = member("server");
  const MembershipPtr thief = member("thief");
  const MembershipPtr other = member("other");
  Notification refused;
  TlsOptions options;
  options.membership = server;
  options.channel.beat = 1min;
  options.refused = [&](const Status&) { refused.notify(); };
  const auto there = *make_tls_transport(server->identity(), options);
  const auto listener = *there->listen(":0");
  const auto thiefs = transport(thief);
  const auto others = transport(other);
  const auto stolen = *thiefs->connect(listener->address(), soon());
  const auto at_server = *listener->accept(soon());
  const auto good = *others->connect(listener->address(), soon());
  const auto good_at_server = *listener->accept(soon());

  ASSERT_TRUE(server->take(remove("thief")).ok());
  EXPECT_EQ(at_server->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_EQ(stolen->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_FALSE(thiefs->connect(listener->address(), soon()).ok());
  EXPECT_TRUE(send(*good, bytes_of("hello")).ok());
  EXPECT_TRUE(good_at_server->receive(soon()).ok());
  ASSERT_TRUE(refused.wait_until(soon()));
  ASSERT_FALSE(server->refusals().empty());
  EXPECT_NE(server->refusals().back().why.find("thief: was removed"), std::string::npos);
}

TEST_F(Members, WhoWereAwayLearnOfRemovalsFromAnyMember) {
  const MembershipPtr owner = member("owner", Role::kOwner);
  const MembershipPtr hall = member("hall");
  const MembershipPtr attic = member("attic");
  const MembershipPtr thief = member("thief");
  EXPECT_TRUE(meet(thief, hall).ok());
  ASSERT_TRUE(owner->take(remove("thief")).ok());
  EXPECT_TRUE(meet(thief, hall).ok()) << "nobody has told it yet";
  EXPECT_TRUE(meet(owner, hall).ok());
  EXPECT_EQ(hall->denied()->counter(), 1u);
  EXPECT_FALSE(meet(thief, hall).ok());
  EXPECT_FALSE(meet(hall, thief).ok()) << "nor is it called";
  // Between two workers, in both directions.
  EXPECT_TRUE(meet(attic, hall).ok());
  EXPECT_EQ(attic->denied()->counter(), 1u);
  EXPECT_FALSE(meet(thief, attic).ok());
}

TEST_F(Members, WhoAreRemovedStaySoWithAnyCertificateOfTheirKey) {
  const MembershipPtr hall = member("hall");
  const Identity before = *cluster_.authority().issue("thief", clock()());
  set_day(1);
  const auto renewed = cluster_.authority().renew("thief", clock()());
  ASSERT_TRUE(hall->take(remove("thief")).ok());
  for (const std::string& certificate : {before.certificate, *renewed}) {
    const auto thief = make_identity(certificate, before.key, before.authority);
    EXPECT_FALSE(meet(*Membership::make(*thief, {.clock = clock()}), hall).ok());
  }
  // The name is free, and its next holder is trusted.
  EXPECT_TRUE(meet(member("thief"), hall).ok());
}

TEST_F(Members, BelieveTheAuthorityOnly) {
  const MembershipPtr hall = member("hall");
  const TestCluster elsewhere;
  elsewhere.identity("hall");
  const auto forged = elsewhere.authority().revoke("hall", TestCluster::now());
  EXPECT_EQ(hall->take(forged->text()).code(), Code::kCorrupt);
  member("thief");
  member("second");
  const std::string first = remove("thief");
  const std::string second = remove("second");
  for (size_t i = 0; i < first.size(); ++i) {
    std::string changed = first;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(hall->take(changed).code(), Code::kCorrupt) << i;
    EXPECT_EQ(hall->take(first.substr(0, i)).code(), Code::kCorrupt) << i;
  }
  EXPECT_TRUE(hall->take(second).ok());
  EXPECT_TRUE(hall->take(first).ok()) << "it is old, which is no fault";
  EXPECT_EQ(hall->denied()->counter(), 2u);
  EXPECT_EQ(hall->denied()->peers().size(), 2u);
}

TEST_F(Members, KeepWhatTheyHaveLearnt) {
  const TestFolder folder;
  ASSERT_TRUE(save(cluster_.identity("hall"), folder.path()).ok());
  member("thief");
  ASSERT_TRUE((*Membership::open(folder.path()))->take(remove("thief")).ok());
  EXPECT_EQ((*Membership::open(folder.path()))->denied()->counter(), 1u);
  std::ofstream(folder.path() / "denied", std::ios::trunc) << "half";
  const auto again = Membership::open(folder.path());
  ASSERT_TRUE(again.ok()) << "a damaged list does not keep a device from starting";
  EXPECT_EQ((*again)->denied()->counter(), 0u);
}

TEST_F(Members, SeeWhatOtherProcessesChange) {
  member("thief");
  const Authority& authority = cluster_.authority();
  const auto hall = *Membership::make(
      cluster_.identity("hall"),
      {.clock = clock(), .deny_list = authority.deny_list_file(), .shared = true});
  const auto here = transport(hall);
  const auto listener = *here->listen(":0");
  const auto thief = transport(*Membership::make(*authority.issue("thief", clock()())));
  const auto stolen = *thief->connect(listener->address(), soon());
  const auto at_hall = *listener->accept(soon());
  remove("thief");  // hall is not told
  EXPECT_EQ(at_hall->receive(soon()).status().code(), Code::kUnavailable);
}

TEST_F(Members, RenewThemselvesWhereTheAuthorityIs) {
  const auto renewed = [this](Time now) { return cluster_.authority().renew("owner", now); };
  const auto owner = *Membership::make(cluster_.identity("owner", Role::kOwner),
                                       {.clock = clock(), .shared = true, .renewed = renewed});
  const std::string first = owner->identity().certificate;
  owner->refresh();
  EXPECT_EQ(owner->identity().certificate, first);
  set_day(60);
  owner->refresh();
  EXPECT_NE(owner->identity().certificate, first);
  set_day(60 + 89);
  EXPECT_TRUE(meet(member("hall"), owner).ok());
}

TEST_F(Members, ForgetTheRemovedWhoseCertificatesHaveEnded) {
  member("thief");
  remove("thief");
  set_day(100);
  member("second");
  remove("second");
  const auto list = cluster_.authority().denied();
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->counter(), 2u);
  ASSERT_EQ(list->peers().size(), 1u);
  EXPECT_EQ(list->peers().front().name, "second");
}

TEST_F(Members, TakeCertificatesForThemselvesOnly) {
  const MembershipPtr hall = member("hall");
  const Identity before = hall->identity();
  set_day(1);
  EXPECT_FALSE(hall->renew(cluster_.identity("attic").certificate).ok());
  EXPECT_FALSE(hall->renew("nonsense").ok());
  const auto request = make_request(**key_from_pem(before.key));
  const auto other_name = cluster_.authority().sign(*request, "king", clock()());
  EXPECT_FALSE(hall->renew(*other_name).ok());
  const auto other_role =
      cluster_.authority().sign(*request, "hall", clock()(), {.role = Role::kOwner});
  EXPECT_FALSE(hall->renew(*other_role).ok());
  EXPECT_EQ(hall->identity().certificate, before.certificate);
}

// Asks at the enrolment port, as a worker does by itself.
class Asking : public Members {
 protected:
  std::string serve() {
    EnrolmentOptions options;
    options.clock = clock();
    enrolment_ = *serve_enrolment(cluster_.authority(), ":0", std::move(options));
    return enrolment_->address();
  }
  std::unique_ptr<Enrolment> enrolment_;
};

TEST_F(Asking, RenewsWithoutAPersonAndWithoutARestart) {
  const TestFolder folder;
  ASSERT_TRUE(save(*cluster_.authority().issue("hall", clock()()), folder.path()).ok());
  const MembershipPtr hall = *Membership::open(folder.path(), clock());
  const std::string address = serve();
  EXPECT_FALSE(*renew_if_due(hall, address, soon()));
  const auto here = transport(hall);
  const auto listener = *here->listen(":0");
  for (const int day : {60, 60 + 89, 60 + 89 + 60}) {
    set_day(day);
    const std::string there = serve();
    const auto renewed = renew_if_due(hall, there, soon());
    ASSERT_TRUE(renewed.ok()) << renewed.status().message();
    EXPECT_TRUE(*renewed) << day;
    EXPECT_FALSE(*renew_if_due(hall, there, soon()));
    // Two days after the certificate before has ended, by the transport of the first day.
    set_day(day + 31);
    const auto friendly = transport(member("friend"));
    EXPECT_TRUE(friendly->connect(listener->address(), soon()).ok()) << day;
    EXPECT_TRUE(listener->accept(soon()).ok());
    EXPECT_EQ(load_identity(folder.path())->certificate, hall->identity().certificate);
  }
}

TEST_F(Asking, HappensByItself) {
  const MembershipPtr hall = member("hall");
  const std::string before = hall->identity().certificate;
  set_day(60);
  Notification told;
  std::string line;
  const RenewalThread thread(hall, serve(), [&](const std::string& what) {
    line = what;
    told.notify();
  });
  ASSERT_TRUE(told.wait_until(soon()));
  EXPECT_EQ(line, "certificate renewed");
  EXPECT_NE(hall->identity().certificate, before);
}

TEST_F(Asking, IsRefusedToTheExpiredAndTheRemoved) {
  const MembershipPtr hall = member("hall");
  const MembershipPtr thief = member("thief");
  for (const int day : {91, 400}) {
    set_day(day);
    EXPECT_EQ(renew_if_due(hall, serve(), soon()).status().code(), Code::kInvalidArgument);
    EXPECT_FALSE(ask_for_renewal(hall, serve(), soon()).ok());
  }
  set_day(70);
  const std::string address = serve();
  remove("thief");
  EXPECT_FALSE(ask_for_renewal(thief, address, soon()).ok());
  EXPECT_TRUE(ask_for_renewal(hall, address, soon()).ok());
}

TEST_F(Asking, BelievesTheAuthorityOnly) {
  const MembershipPtr hall = member("hall");
  const auto spy = transport(member("spy", Role::kOwner));
  const auto listener = *spy->listen(":0");
  const auto refused = ask_for_renewal(hall, listener->address(), soon());
  EXPECT_NE(refused.status().message().find("not the authority"), std::string_view::npos)
      << refused.status().message();
}

TEST_F(Asking, WhoHasExpiredJoinsAgainByAToken) {
  const TestFolder folder;
  for (const int day : {0, 91, 91 + 400}) {
    set_day(day);
    const Invitations invitations(cluster_.authority());
    const Token token = *invitations.invite(serve(), clock()());
    const auto before = load_identity(folder.path() / "hall");
    JoinOptions options;
    options.clock = clock();
    const auto joined = join_from(folder.path() / "hall", token, "hall", soon(), options);
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    EXPECT_EQ(joined->name, "hall");
    if (before.ok()) {
      EXPECT_EQ(joined->key, before->key);
    }
    const MembershipPtr hall = *Membership::open(folder.path() / "hall", clock());
    EXPECT_TRUE(meet(hall, member("friend")).ok());
  }
}

TEST_F(Asking, NewcomersLearnWhoWasRemoved) {
  const TestFolder folder;
  const MembershipPtr thief = member("thief");
  remove("thief");
  const Invitations invitations(cluster_.authority());
  const Token token = *invitations.invite(serve(), clock()());
  ASSERT_TRUE(join_from(folder.path() / "hall", token, "hall", soon()).ok());
  EXPECT_FALSE(meet(thief, *Membership::open(folder.path() / "hall", clock())).ok());
}

}  // namespace
}  // namespace shoal::net
