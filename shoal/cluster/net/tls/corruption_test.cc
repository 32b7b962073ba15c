// Bytes that change on their way: what arrives is what was sent, or nothing.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/tls/tls_context.h"
#include "shoal/cluster/net/tls/tls_stream.h"

namespace shoal::net {
namespace {

// SHOAL_CORRUPTIONS=100000 for the figure in docs/measurements/reliability.md.
int how_many() {
  const char* number = std::getenv("SHOAL_CORRUPTIONS");
  return number != nullptr ? std::atoi(number) : 100;
}

std::array<int, 2> socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

Data take_all(int fd) {
  Data all;
  std::array<std::byte, 4096> some{};
  for (ssize_t n = 0; (n = ::read(fd, some.data(), some.size())) > 0;) {
    all.insert(all.end(), some.begin(), some.begin() + n);
  }
  return all;
}

void give(int fd, const Data& bytes) {
  ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), std::ssize(bytes));
}

// One to four bits, a byte more or less, or an end that is missing.
void damage(Data& bytes, std::mt19937_64& random) {
  const size_t at = random() % bytes.size();
  switch (random() % 4) {
    case 0:
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::byte(random()));
      return;
    case 2:
      bytes.resize(at);
      return;
    default:
      break;
  }
  for (size_t i = 0, count = 1 + random() % 4; i < count; ++i) {
    const size_t where = (at + i) % bytes.size();
    bytes[where] ^= std::byte(1U << random() % 8);
  }
}

// Two channels over TLS, with a machine in the middle between them.
class Tapped {
 public:
  Tapped(SSL_CTX& client, SSL_CTX& server) {
    const auto [a, tap_a] = socket_pair();
    const auto [b, tap_b] = socket_pair();
    taps_ = {tap_a, tap_b};
    auto one = std::make_unique<TlsStream>(client, a, TlsStream::Side::kClient);
    auto other = std::make_unique<TlsStream>(server, b, TlsStream::Side::kServer);
    for (bool done = false; !done;) {
      const auto first = one->shake_hands();
      pass_on();
      const auto second = other->shake_hands();
      pass_on();
      EXPECT_TRUE(first.ok() && second.ok());
      if (!first.ok() || !second.ok()) break;
      done = !*first && !*second;
    }
    sender_ =
        std::make_unique<FramedChannel>(std::move(one), Peer{"one", ""}, ChannelOptions{}, nullptr);
    receiver_ = std::make_unique<FramedChannel>(std::move(other), Peer{"other", ""},
                                                ChannelOptions{}, nullptr);
  }
  ~Tapped() {
    for (int tap : taps_) ::close(tap);
  }

  Data send(const Data& control, const Data& payload) {
    const Bytes piece(payload);
    EXPECT_TRUE(sender_->send({control, std::span(&piece, 1)}, kNoWait).ok());
    return take_all(taps_[0]);
  }
  Result<Frame> receive(const Data& bytes, bool is_last) {
    give(taps_[1], bytes);
    if (is_last) ::shutdown(taps_[1], SHUT_WR);
    return receiver_->receive(kNoWait, {});
  }

 private:
  void pass_on() {
    give(taps_[1], take_all(taps_[0]));
    give(taps_[0], take_all(taps_[1]));
  }

  std::array<int, 2> taps_{};
  std::unique_ptr<FramedChannel> sender_, receiver_;
};

TEST(Corruption, IsNoticedInEveryFrame) {
  const TestCluster cluster;
  const auto client = make_tls_context(cluster.identity("one"));
  const auto server = make_tls_context(cluster.identity("other"));
  ASSERT_TRUE(client.ok() && server.ok());
  std::mt19937_64 random(11);
  for (int i = 0, count = how_many(); i < count; ++i) {
    SCOPED_TRACE(i);
    Tapped tapped(**client, **server);
    const size_t bytes = random() % 40'000;
    const Data control = random_bytes(random() % 200, random());
    const Data payload = random_bytes(bytes, random());
    const auto whole = tapped.receive(tapped.send(control, payload), false);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    EXPECT_TRUE(equal(whole->control, control) && equal(whole->payload.bytes, payload));
    const Data sent = tapped.send(control, payload);
    Data damaged = sent;
    damage(damaged, random);
    const auto refused = tapped.receive(damaged, true);
    // Where all of it is there, and only then something that is too much.
    if (equal(Bytes(damaged).first(std::min(damaged.size(), sent.size())), sent)) continue;
    ASSERT_FALSE(refused.ok());
    ASSERT_NE(refused.status().code(), Code::kDeadline) << "the end was seen";
  }
}

}  // namespace
}  // namespace shoal::net
