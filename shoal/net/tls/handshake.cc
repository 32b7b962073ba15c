// The handshake of a channel: TLS, then the judgement of the certificate, then eight bytes in each
// direction with a magic number and the version, inside of TLS. Sockets never block here: each step
// goes as far as it can, and waits for readiness.
#include "shoal/net/tls/handshake.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "shoal/net/tls/certificate.h"

namespace shoal::net {
namespace {

namespace asio = boost::asio;

// The first eight bytes of either side, in every version to come: "SHOAL", 0, version as u16.
constexpr std::string_view kMagic("SHOAL\0", 6);

std::string address_of(const asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto end = socket.remote_endpoint(error);
  if (error) return "unknown address";
  const std::string host = end.address().to_string();
  return (end.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(end.port());
}

}  // namespace

Result<Peer> certified_peer(SSL& ssl, const std::string& cluster) {
  const CertificatePtr certificate(SSL_get1_peer_certificate(&ssl));
  if (certificate == nullptr) return invalid("showed no certificate");
  SHOAL_ASSIGN(Subject subject, subject_of(*certificate));
  if (subject.cluster != cluster) return invalid("belongs to another cluster");
  return Peer{std::move(subject.name), "", subject.role};
}

Handshake::Handshake(asio::io_context& io, asio::ip::tcp::socket socket, SSL_CTX& context,
                     TlsStream::Side side, Terms terms)
    : terms_(std::move(terms)), address_(address_of(socket)), readiness_(io), timer_(io) {
  stream_ = std::make_unique<TlsStream>(context, socket.release(), side);
}

Handshake::~Handshake() {
  if (readiness_.is_open()) readiness_.release();
}

void Handshake::start(Deadline deadline, Done done) {
  done_ = std::move(done);
  boost::system::error_code error;
  readiness_.assign(stream_->fd(), error);
  if (error) return finish(Status(Code::kExhausted, error.message()));
  timer_.expires_at(deadline);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->finish(Status(Code::kDeadline, "did not finish the handshake in time"));
  });
  step();
}

void Handshake::step() {
  if (done_ == nullptr) return;
  auto next = advance();
  if (!next.ok()) return finish(next.status());
  if (!*next) return finish(Introduced{std::move(stream_), std::move(peer_)});
  const auto event = **next == Socket::For::kReading ? asio::posix::stream_descriptor::wait_read
                                                     : asio::posix::stream_descriptor::wait_write;
  readiness_.async_wait(event, [self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->step();
  });
}

// Goes as far as it can without waiting. Returns nothing when all is done, or else what to wait
// for.
Result<std::optional<Socket::For>> Handshake::advance() {
  if (!tls_done_) {
    SHOAL_ASSIGN(const auto next, stream_->shake_hands());
    if (next) return next;
    tls_done_ = true;
    // Before our hello: a peer that is refused learns nothing further.
    SHOAL_ASSIGN(peer_, terms_.judge(stream_->ssl()));
    peer_.address = address_;
    SHOAL_TRY(say_hello());
  }
  while (heard_ < hello_.size()) {
    const auto n = stream_->read(std::span(hello_).subspan(heard_), kNoWait);
    if (n.status().code() == Code::kDeadline) return std::optional(Socket::For::kReading);
    if (!n.ok()) return n.status();
    heard_ += *n;
  }
  SHOAL_TRY(check_hello());
  return std::optional<Socket::For>();
}

Status Handshake::say_hello() {
  std::array<std::byte, kHelloBytes> hello{};
  std::ranges::transform(kMagic, hello.begin(), [](char c) { return static_cast<std::byte>(c); });
  hello[6] = static_cast<std::byte>(terms_.version & 0xff);
  hello[7] = static_cast<std::byte>(terms_.version >> 8);
  SHOAL_TRY(stream_->write(std::array<Bytes, 1>{hello}, kNoWait));
  return stream_->flush(kNoWait);
}

Status Handshake::check_hello() const {
  const auto same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  if (!std::equal(kMagic.begin(), kMagic.end(), hello_.begin(),
                  [&](char c, std::byte b) { return same(b, c); }))
    return Status(Code::kCorrupt, peer_.name + " does not speak shoal's protocol");
  const int theirs = std::to_integer<int>(hello_[6]) | std::to_integer<int>(hello_[7]) << 8;
  if (theirs == terms_.version) return {};
  return Status(Code::kUnsupported, peer_.name + " speaks version " + std::to_string(theirs) +
                                        " of the protocol and this is version " +
                                        std::to_string(terms_.version) +
                                        "; install the same release of shoal on both");
}

void Handshake::finish(Result<Introduced> result) {
  // Timeout, readiness and cancel() may all come; the first one ends the handshake.
  if (done_ == nullptr) return;
  timer_.cancel();
  if (readiness_.is_open()) readiness_.release();  // before the stream closes the socket
  const Done done = std::exchange(done_, nullptr);
  if (result.ok()) return done(std::move(result));
  stream_.reset();
  done(result.status().at(address_));
}

}  // namespace shoal::net
