// Handshake: from a connected socket to a peer with a certified name and our protocol version.
// Asynchronous, because strangers are many and slow: one costs a few kilobytes, not a thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/net/tls/deny_list.h"
#include "shoal/cluster/net/tls/tls_stream.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

class Membership;

struct Terms {
  // Name and role of the peer, or the reason to refuse it. Called when TLS is established.
  std::function<Result<Peer>(SSL&)> judge;
  uint16_t version = 0;
  // Its clock checks certificates, and its deny list is compared with the peer's. Null: the
  // system's clock; the peer's list is passed on in Introduced.
  std::shared_ptr<Membership> membership = nullptr;
};

// Name and role in the peer's certificate, which TLS has verified. Fails for another cluster and
// for a removed member.
Result<Peer> certified_peer(SSL& ssl, const Membership& membership);

struct Introduced {
  std::unique_ptr<TlsStream> stream;
  Peer peer;
  std::string deny_list = {};  // of the peer, not verified; only without a membership
};

// Used on the thread of the io_context only.
class Handshake final : public std::enable_shared_from_this<Handshake> {
 public:
  using Done = std::function<void(Result<Introduced>)>;

  Handshake(boost::asio::io_context& io, boost::asio::ip::tcp::socket socket, SSL_CTX& context,
            TlsStream::Side side, Terms terms);
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  // `done` is called once, from here or later.
  void start(Deadline deadline, Done done);
  void cancel(const Status& why) { finish(why); }

 private:
  using Wait = std::optional<Socket::For>;  // nothing: go on

  void step();
  Result<Wait> advance();
  Status say_hello();
  Result<Wait> hear(size_t bytes);
  Status check_hello() const;
  Result<Wait> hear_hello();
  Result<Wait> compare_lists();
  Result<Wait> say_list();
  Result<Wait> hear_list();
  void finish(Result<Introduced> result);

  const Terms terms_;
  std::string address_;
  Peer peer_;
  std::unique_ptr<TlsStream> stream_;
  boost::asio::posix::stream_descriptor readiness_;  // of the stream's socket, which owns it
  boost::asio::steady_timer timer_;
  Done done_;
  bool tls_done_ = false;
  std::shared_ptr<const DenyList> list_;  // ours when the hello was said
  bool list_said_ = false;
  std::vector<std::byte> heard_;
  std::string their_list_;
};

}  // namespace shoal::net
