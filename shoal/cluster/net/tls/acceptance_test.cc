// Peers that must be refused, and whether the service continues for the others.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/dial.h"
#include "shoal/cluster/net/tls/service.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::net {
namespace {

using namespace std::chrono_literals;

// Who was not let in, and why.
class Refusals {
 public:
  void add(const Status& why) {
    const std::lock_guard lock(mutex_);
    ++count_;
    last_ = why;
    changed_.notify_all();
  }
  Status wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_until(lock, soon(), [&] { return count_ >= count; }));
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t count_ = 0;
  Status last_;
};

class Strangers : public testing::Test {
 protected:
  void listen(TlsOptions options = {}) {
    options.refused = [this](const Status& why) { refusals_.add(why); };
    listener_ = *cluster_.transport("server", std::move(options))->listen(":0");
  }
  // A peer that shows the context's certificate, and accepts any.
  Result<Introduced> knock(std::shared_ptr<SSL_CTX> context, uint16_t version = kProtocolVersion) {
    Terms terms;
    terms.version = version;
    terms.judge = [](SSL&) -> Result<Peer> { return Peer{"server", ""}; };
    return dial(service_.io(), listener_->address(), std::move(context), terms, soon());
  }
  int connect_tcp(bool wait = true, in_addr_t from = INADDR_LOOPBACK) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | (wait ? 0 : SOCK_NONBLOCK), 0);
    sockaddr_in source{};
    source.sin_family = AF_INET;
    source.sin_addr.s_addr = htonl(from);
    if (from != INADDR_LOOPBACK) {
      EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&source), sizeof source), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string where = listener_->address();
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(where.substr(where.rfind(':') + 1))));
    (void)::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    return fd;
  }
  void expect_service_goes_on() {
    const auto transport = cluster_.transport("friend");
    auto channel = transport->connect(listener_->address(), soon());
    ASSERT_TRUE(channel.ok()) << channel.status().message();
    auto accepted = listener_->accept(soon());
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    EXPECT_EQ((*accepted)->peer().name, "friend");
    EXPECT_TRUE(send(**channel, bytes_of("hello")).ok());
    EXPECT_TRUE((*accepted)->receive(soon()).ok());
  }
  static void expect_says(const Status& status, std::string_view what) {
    EXPECT_NE(status.message().find(what), std::string_view::npos) << status.message();
  }

  TestCluster cluster_;
  Refusals refusals_;
  Service service_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(Strangers, WithoutACertificateGetNothing) {
  listen();
  const auto refused = knock(*make_anonymous_context());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  expect_says(refused.status(), "refused us: certificate required");
  expect_says(refusals_.wait_for(1), "did not return a certificate");
  expect_service_goes_on();
}

TEST_F(Strangers, OfAnotherClusterGetNothing) {
  listen();
  const TestCluster other;
  std::shared_ptr<SSL_CTX> context = *make_tls_context(other.identity("spy"));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const auto refused = knock(context);
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  expect_says(refused.status(), "refused us: ");
  expect_says(refusals_.wait_for(1), "its certificate is refused");
  expect_service_goes_on();
}

TEST_F(Strangers, AreNotBelievedWhereWeConnect) {
  listen();
  const TestCluster other;
  const auto refused = other.transport("client")->connect(listener_->address(), soon());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  expect_says(refused.status(), listener_->address());
  expect_says(refused.status(), "its certificate is refused");
  expect_service_goes_on();
}

TEST_F(Strangers, WhoseTimeIsOverGetNothing) {
  listen();
  const auto old = cluster_.authority().issue("old", TestCluster::now() - 48h, {.lifetime = 24h});
  const auto refused = (*make_tls_transport(*old))->connect(listener_->address(), soon());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  expect_says(refused.status(), "refused us: certificate expired");
  expect_says(refusals_.wait_for(1), "certificate has expired");
  expect_service_goes_on();
}

TEST_F(Strangers, WhoTookOverAnAddressAreNoticed) {
  listen();
  const auto transport = cluster_.transport("client");
  const auto other = transport->connect(listener_->address(), soon(), "kitchen");
  EXPECT_EQ(other.status().code(), Code::kUnavailable);
  expect_says(other.status(), "is server, not kitchen");
  EXPECT_FALSE((*listener_->accept(soon()))->receive(soon()).ok()) << "nothing was sent";
  EXPECT_TRUE(transport->connect(listener_->address(), soon(), "server").ok());
}

TEST_F(Strangers, OfAnotherVersionAreToldSo) {
  listen();
  TlsOptions options;
  options.version = 7;
  const auto transport = cluster_.transport("newer", options);
  const auto refused = transport->connect(listener_->address(), soon());
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  expect_says(refused.status(), "server speaks version 2 of the protocol and this is version 7");
  expect_says(refusals_.wait_for(1), "newer speaks version 7 of the protocol");
  expect_service_goes_on();
}

TEST_F(Strangers, WhoSpeakNoTlsGetNothing) {
  listen();
  const int fd = connect_tcp();
  const std::string request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  expect_says(refusals_.wait_for(1), "TLS is broken");
  ::close(fd);
  expect_service_goes_on();
}

TEST_F(Strangers, WhoSayNothingAreCutOff) {
  TlsOptions options;
  options.handshake = 10ms;
  listen(options);
  const int fd = connect_tcp();
  EXPECT_EQ(refusals_.wait_for(1).code(), Code::kDeadline);
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 0);
  ::close(fd);
}

TEST_F(Strangers, InThousandsLeaveRoomForFriends) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  constexpr size_t kOthers = 600;  // descriptors for everything else
  ASSERT_GT(files.rlim_max, kOthers);
  const size_t count = std::min<size_t>(10'000, files.rlim_max - kOthers);

  TlsOptions options;
  options.handshake = 1h;  // they are cut off for their number
  listen(options);
  std::vector<int> idle;
  for (size_t i = 0; i < count; ++i) {
    idle.push_back(connect_tcp(/*wait=*/false));
    // Not faster than accepted: connections that wait in the kernel are not the listener's.
    if (idle.size() > options.max_strangers + 500)
      (void)refusals_.wait_for(idle.size() - options.max_strangers - 500);
  }
  const Status why = refusals_.wait_for(count - options.max_strangers);
  EXPECT_EQ(why.code(), Code::kExhausted);
  expect_service_goes_on();
  for (const int fd : idle) ::close(fd);
}

TEST_F(Strangers, OfOneHostDisplaceEachOtherOnly) {
  TlsOptions options;
  options.handshake = 1h;
  options.max_strangers = 8;
  listen(options);
  const int slow = connect_tcp();
  constexpr in_addr_t kFlooding = INADDR_LOOPBACK + 1;
  std::vector<int> flood;
  for (int i = 0; i < 40; ++i) flood.push_back(connect_tcp(true, kFlooding));
  expect_says(refusals_.wait_for(40 - 7), "127.0.0.2");
  char byte = 0;
  EXPECT_EQ(::recv(slow, &byte, 1, MSG_DONTWAIT), -1) << "it was cut off for others";
  ::close(slow);
  for (const int fd : flood) ::close(fd);
}

TEST_F(Strangers, WhoSendNoFramesAreCutOffAndNamed) {
  listen();
  auto who = knock(*make_tls_context(cluster_.identity("gone-mad")));
  ASSERT_TRUE(who.ok()) << who.status().message();
  auto channel = listener_->accept(soon());
  ASSERT_TRUE(channel.ok());
  const Data garbage = random_bytes(1000, 1);
  const std::array<Bytes, 1> pieces{garbage};
  EXPECT_TRUE(who->stream->write(pieces, soon()).ok());
  EXPECT_TRUE(who->stream->flush(soon()).ok());
  const Status corrupt = (*channel)->receive(soon()).status();
  EXPECT_EQ(corrupt.code(), Code::kCorrupt);
  expect_says(corrupt, "gone-mad (127.0.0.1:");
  EXPECT_EQ((*channel)->receive(soon()).status().code(), Code::kCorrupt);
  std::byte byte{};
  EXPECT_EQ(who->stream->read({&byte, 1}, soon()).status().code(), Code::kUnavailable);
  expect_service_goes_on();
}

TEST_F(Strangers, WhoTakeTooManyChannelsGetNoMore) {
  TlsOptions options;
  options.max_channels_per_peer = 2;
  listen(options);
  const auto transport = cluster_.transport("greedy");
  std::vector<std::shared_ptr<Channel>> channels;
  for (int i = 0; i < 2; ++i) {
    channels.push_back(*transport->connect(listener_->address(), soon()));
    channels.push_back(*listener_->accept(soon()));
  }
  auto third = transport->connect(listener_->address(), soon());
  expect_says(refusals_.wait_for(1), "greedy (127.0.0.1:");
  ASSERT_TRUE(third.ok());
  EXPECT_EQ((*third)->receive(soon()).status().code(), Code::kUnavailable);
  channels.clear();
  expect_service_goes_on();
  EXPECT_TRUE(transport->connect(listener_->address(), soon()).ok());
  EXPECT_TRUE(listener_->accept(soon()).ok());
}

TEST_F(Strangers, CannotListenWhereSomeoneDoes) {
  listen();
  const auto second = cluster_.transport("other")->listen(listener_->address());
  EXPECT_EQ(second.status().code(), Code::kInvalidArgument);
  expect_says(second.status(), listener_->address());
  EXPECT_FALSE(cluster_.transport("other")->listen("no-number:1").ok());
  EXPECT_FALSE(cluster_.transport("other")->listen("127.0.0.1").ok());
  EXPECT_FALSE(cluster_.transport("other")->listen(":70000").ok());
}

TEST_F(Strangers, AreNotThereWhereNobodyListens) {
  listen();
  const std::string address = listener_->address();
  listener_->close();
  EXPECT_EQ(listener_->accept(soon()).status().code(), Code::kUnavailable);
  const auto gone = cluster_.transport("client")->connect(address, soon());
  EXPECT_EQ(gone.status().code(), Code::kUnavailable);
  expect_says(gone.status(), address);
  EXPECT_FALSE(cluster_.transport("client")->connect("nowhere.invalid:1", soon()).ok());
}

TEST_F(Strangers, WhoNeverAnswerAreGivenUp) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(fd, where, size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ASSERT_EQ(::getsockname(fd, where, &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const auto slow = cluster_.transport("client")->connect(":" + port, after(20ms));
  EXPECT_EQ(slow.status().code(), Code::kDeadline) << slow.status().message();
  ::close(fd);
}

}  // namespace
}  // namespace shoal::net
