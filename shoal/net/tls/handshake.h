// Handshake: from a connected socket to a peer whose name is certified and whose version is ours.
// Asynchronous, because strangers are many and slow: one costs a few kilobytes, not a thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/net/tls/tls_stream.h"
#include "shoal/net/transport.h"

namespace shoal::net {

struct Terms {
  // Name and role of the peer, or the reason to refuse it. Called when TLS is established.
  std::function<Result<Peer>(SSL&)> judge;
  uint16_t version = 0;
};

// Name and role in the peer's certificate, which TLS has verified. Fails for another cluster.
Result<Peer> certified_peer(SSL& ssl, const std::string& cluster);

struct Introduced {
  std::unique_ptr<TlsStream> stream;
  Peer peer;
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
  static constexpr size_t kHelloBytes = 8;

  void step();
  Result<std::optional<Socket::For>> advance();
  Status say_hello();
  Status check_hello() const;
  void finish(Result<Introduced> result);

  const Terms terms_;
  std::string address_;
  Peer peer_;
  std::unique_ptr<TlsStream> stream_;
  boost::asio::posix::stream_descriptor readiness_;  // of the stream's socket, which owns it
  boost::asio::steady_timer timer_;
  Done done_;
  bool tls_done_ = false;
  std::array<std::byte, kHelloBytes> hello_{};
  size_t heard_ = 0;  // of hello_
};

}  // namespace shoal::net
