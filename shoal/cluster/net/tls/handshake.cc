// The handshake of a channel: TLS, then the judgement of the certificate, then a hello in each
// direction, inside of TLS: a magic number, the version, and the counter of the deny list. Then the
// peer with the newer deny list sends it. So every connection between any two members spreads the
// list. Sockets never block here: each step goes as far as it can, and waits for readiness.
#include "shoal/cluster/net/tls/handshake.h"

#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::net {
namespace {

namespace asio = boost::asio;

// The first eight bytes of either side, in every version to come: "SHOAL", 0, version as u16.
constexpr std::string_view kMagic("SHOAL\0", 6);
constexpr size_t kVersionBytes = 2;
// Since version 2: the counter as u64, and where a list follows, its size as u32. The lowest byte
// of a number is first.
constexpr size_t kCounterAt = kMagic.size() + kVersionBytes;
constexpr size_t kCounterBytes = 8;
constexpr size_t kHelloBytes = kCounterAt + kCounterBytes;
constexpr size_t kSizeBytes = 4;

void append(std::vector<std::byte>& to, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(number >> 8 * i & 0xff));
}

uint64_t number_at(const std::vector<std::byte>& bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) number |= std::to_integer<uint64_t>(bytes[at + i]) << 8 * i;
  return number;
}

std::string address_of(const asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto end = socket.remote_endpoint(error);
  if (error) return "unknown address";
  const std::string host = end.address().to_string();
  return (end.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(end.port());
}

}  // namespace

Result<Peer> certified_peer(SSL& ssl, const Membership& membership) {
  const CertificatePtr certificate(SSL_get1_peer_certificate(&ssl));
  if (certificate == nullptr) return invalid("showed no certificate");
  SHOAL_ASSIGN(Subject subject, subject_of(*certificate));
  if (subject.cluster != membership.identity().cluster)
    return invalid("belongs to another cluster");
  SHOAL_ASSIGN(const CertificateId id, id_of(*certificate));
  // The name is for the log: this peer is known, and refused all the same.
  if (Status denied = membership.check(id); !denied.ok()) return denied.at(subject.name);
  return Peer{std::move(subject.name), "", subject.role};
}

Handshake::Handshake(asio::io_context& io, asio::ip::tcp::socket socket, SSL_CTX& context,
                     TlsStream::Side side, Terms terms)
    : terms_(std::move(terms)), address_(address_of(socket)), readiness_(io), timer_(io) {
  stream_ = std::make_unique<TlsStream>(context, socket.release(), side);
  if (terms_.membership != nullptr)
    X509_VERIFY_PARAM_set_time(SSL_get0_param(&stream_->ssl()),
                               std::chrono::system_clock::to_time_t(terms_.membership->now()));
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
  if (!*next)
    return finish(Introduced{std::move(stream_), std::move(peer_), std::move(their_list_)});
  const auto event = **next == Socket::For::kReading ? asio::posix::stream_descriptor::wait_read
                                                     : asio::posix::stream_descriptor::wait_write;
  readiness_.async_wait(event, [self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->step();
  });
}

// Goes as far as it can without waiting. Returns nullopt when done, or else what to wait for.
Result<Handshake::Wait> Handshake::advance() {
  if (!tls_done_) {
    SHOAL_ASSIGN(const auto next, stream_->shake_hands());
    if (next) return next;
    tls_done_ = true;
    // Before our hello: a peer that is refused learns nothing further.
    SHOAL_ASSIGN(peer_, terms_.judge(stream_->ssl()));
    peer_.address = address_;
    SHOAL_TRY(say_hello());
  }
  SHOAL_ASSIGN(const Wait next, hear_hello());
  if (next) return next;
  return compare_lists();
}

Status Handshake::say_hello() {
  list_ = terms_.membership ? terms_.membership->denied() : std::make_shared<DenyList>();
  std::vector<std::byte> hello;
  for (const char c : kMagic) hello.push_back(static_cast<std::byte>(c));
  append(hello, terms_.version, kVersionBytes);
  append(hello, list_->counter(), kCounterBytes);
  SHOAL_TRY(stream_->write(std::array<Bytes, 1>{hello}, kNoWait));
  return stream_->flush(kNoWait);
}

// Reads until this many bytes of the peer are here, and none beyond: frames follow.
Result<Handshake::Wait> Handshake::hear(size_t bytes) {
  while (heard_.size() < bytes) {
    const size_t before = heard_.size();
    heard_.resize(bytes);
    const auto n = stream_->read(std::span(heard_).subspan(before), kNoWait);
    heard_.resize(before + (n.ok() ? *n : 0));
    if (n.status().code() == Code::kDeadline) return Wait(Socket::For::kReading);
    if (!n.ok()) return n.status();
  }
  return Wait();
}

Result<Handshake::Wait> Handshake::hear_hello() {
  // The version first: another one may say something else after it.
  SHOAL_ASSIGN(const Wait next, hear(kCounterAt));
  if (next) return next;
  SHOAL_TRY(check_hello());
  return hear(kHelloBytes);
}

Status Handshake::check_hello() const {
  const auto same = [](char c, std::byte b) { return b == static_cast<std::byte>(c); };
  if (!std::equal(kMagic.begin(), kMagic.end(), heard_.begin(), same))
    return Status(Code::kCorrupt, peer_.name + " does not speak shoal's protocol");
  const uint64_t theirs = number_at(heard_, kMagic.size(), kVersionBytes);
  if (theirs == terms_.version) return {};
  return Status(Code::kUnsupported, peer_.name + " speaks version " + std::to_string(theirs) +
                                        " of the protocol and this is version " +
                                        std::to_string(terms_.version) +
                                        "; install the same release of shoal on both");
}

// Whoever has the newer deny list sends it. Only one does, so that two long lists cannot fill the
// buffers of both while neither reads.
Result<Handshake::Wait> Handshake::compare_lists() {
  const uint64_t theirs = number_at(heard_, kCounterAt, kCounterBytes);
  if (theirs < list_->counter()) return say_list();
  if (theirs > list_->counter()) return hear_list();
  return Wait();
}

Result<Handshake::Wait> Handshake::say_list() {
  if (!list_said_) {
    list_said_ = true;
    std::vector<std::byte> size;
    append(size, list_->text().size(), kSizeBytes);
    const std::array<Bytes, 2> pieces{size, std::as_bytes(std::span(list_->text()))};
    SHOAL_TRY(stream_->write(pieces, kNoWait));
  }
  const Status flushed = stream_->flush(kNoWait);
  if (flushed.code() == Code::kDeadline) return Wait(Socket::For::kWriting);
  SHOAL_TRY(flushed);
  return Wait();
}

Result<Handshake::Wait> Handshake::hear_list() {
  // Strangers are many: none gets memory for a list. A peer with a certificate is one of a few.
  if (SSL_get0_peer_certificate(&stream_->ssl()) == nullptr)
    return Status(Code::kCorrupt, "a newcomer claims to know who was removed");
  SHOAL_ASSIGN(const Wait before_size, hear(kHelloBytes + kSizeBytes));
  if (before_size) return before_size;
  const uint64_t size = number_at(heard_, kHelloBytes, kSizeBytes);
  if (size > kMaxDenyListBytes)
    return Status(Code::kCorrupt, peer_.name + " sends a deny list that is too long");
  SHOAL_ASSIGN(const Wait before_end, hear(kHelloBytes + kSizeBytes + size));
  if (before_end) return before_end;
  their_list_.assign(reinterpret_cast<const char*>(heard_.data()) + kHelloBytes + kSizeBytes, size);
  if (terms_.membership == nullptr) return Wait();
  SHOAL_TRY(terms_.membership->take(their_list_));
  // Perhaps the list that it sent names the peer itself.
  SHOAL_TRY(terms_.judge(stream_->ssl()).status());
  return Wait();
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
