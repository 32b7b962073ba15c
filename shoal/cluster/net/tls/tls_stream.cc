// TLS over memory buffers. Reading: the socket fills received_, OpenSSL decrypts from it. Writing:
// OpenSSL encrypts into encrypted_, which flush() swaps out and sends. The lock is held for one
// record at a time, so that reader and writer take turns; no system call is made under it.
#include "shoal/cluster/net/tls/tls_stream.h"

#include <algorithm>
#include <cstring>

namespace shoal::net {
namespace {

// Bytes received at once: few during a stranger's handshake, more as bulk comes in, but no more
// than stay in the cache until they are decrypted.
constexpr size_t kFirstReceiveBytes = size_t{4} << 10;
constexpr size_t kMostReceiveBytes = size_t{64} << 10;
constexpr size_t kRecordBytes = size_t{16} << 10;  // the most a TLS record holds
// Pieces below are gathered into records; longer ones are encrypted from where they lie.
constexpr size_t kGatherBytes = size_t{4} << 10;
// RFC 8446, 5.5: an AES key is good for 2^24 records. Far fewer are used.
constexpr uint64_t kRenewAfterBytes = uint64_t{1} << 36;

Status broken(SSL& ssl, int error) {
  const bool judged = (SSL_get_verify_mode(&ssl) & SSL_VERIFY_PEER) != 0;
  const long verdict = SSL_get_verify_result(&ssl);
  if (judged && verdict != X509_V_OK) {
    ERR_clear_error();
    return invalid(std::string("its certificate is refused: ") +
                   X509_verify_cert_error_string(verdict));
  }
  if (error == SSL_ERROR_ZERO_RETURN) return Status(Code::kUnavailable, "closed the connection");
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (reason < SSL_AD_REASON_OFFSET) return openssl_failure(Code::kUnavailable, "TLS is broken");
  ERR_clear_error();
  const int alert = reason - SSL_AD_REASON_OFFSET;
  // OpenSSL 3.0 has no text for this alert.
  if (alert == SSL_AD_CERTIFICATE_REQUIRED) return invalid("refused us: certificate required");
  return invalid(std::string("refused us: ") + SSL_alert_desc_string_long(alert));
}

}  // namespace

BIO_METHOD* TlsStream::bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "shoal");
    SHOAL_CHECK(made != nullptr);
    BIO_meth_set_read_ex(made, &TlsStream::bio_read);
    BIO_meth_set_write_ex(made, &TlsStream::bio_write);
    BIO_meth_set_ctrl(made, &TlsStream::bio_control);
    return made;
  }();
  return method;
}

int TlsStream::bio_read(BIO* bio, char* into, size_t size, size_t* done) {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  *done = std::min(size, self.end_ - self.begin_);
  if (*done == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(into, self.received_.data() + self.begin_, *done);
  self.begin_ += *done;
  return 1;
}

int TlsStream::bio_write(BIO* bio, const char* from, size_t size, size_t* done) {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  const auto* bytes = reinterpret_cast<const std::byte*>(from);
  self.encrypted_.insert(self.encrypted_.end(), bytes, bytes + size);
  *done = size;
  return 1;
}

long TlsStream::bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

TlsStream::TlsStream(SSL_CTX& context, int fd, Side side)
    : socket_(fd), ssl_(SSL_new(&context)), received_(kFirstReceiveBytes) {
  SHOAL_CHECK(ssl_ != nullptr);
  BIO* bio = BIO_new(bio_method());
  SHOAL_CHECK(bio != nullptr);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  side == Side::kClient ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
}

Result<std::optional<Socket::For>> TlsStream::shake_hands() {
  for (;;) {
    int result = 0;
    int error = 0;
    {
      const std::lock_guard lock(mutex_);
      ERR_clear_error();
      result = SSL_do_handshake(ssl_.get());
      error = SSL_get_error(ssl_.get(), result);
    }
    // Also before an error: the alert that tells the peer has to go out.
    const Status flushed = flush(kNoWait);
    if (result != 1 && error != SSL_ERROR_WANT_READ) return broken(*ssl_, error);
    if (flushed.code() == Code::kDeadline) return std::optional(Socket::For::kWriting);
    SHOAL_TRY(flushed);
    if (result == 1) return std::optional<Socket::For>();
    const Status filled = fill(kNoWait);
    if (filled.code() == Code::kDeadline) return std::optional(Socket::For::kReading);
    SHOAL_TRY(filled);
  }
}

Result<size_t> TlsStream::read(std::span<std::byte> into, Deadline deadline) {
  for (;;) {
    SHOAL_ASSIGN(const size_t n, decrypt(into));
    if (n > 0) return n;
    SHOAL_TRY(fill(deadline));
  }
}

// The number of bytes; 0 if more has to come first.
Result<size_t> TlsStream::decrypt(std::span<std::byte> into) {
  const std::lock_guard lock(mutex_);
  if (begin_ == end_ && SSL_pending(ssl_.get()) == 0) return size_t{0};
  ERR_clear_error();  // SSL_get_error() would take an old error for its own
  size_t n = 0;
  if (SSL_read_ex(ssl_.get(), into.data(), into.size(), &n) == 1) return n;
  const int error = SSL_get_error(ssl_.get(), 0);
  if (error == SSL_ERROR_WANT_READ) return size_t{0};
  return broken(*ssl_, error);
}

// REQUIRES: OpenSSL has taken all that was received before.
Status TlsStream::fill(Deadline deadline) {
  if (more_is_likely_ && received_.size() < kMostReceiveBytes)
    received_.resize(2 * received_.size());
  // A full buffer last time means that there is probably more: reading first saves a system call.
  for (bool wait = !more_is_likely_;; wait = true) {
    if (wait) SHOAL_TRY(socket_.wait(Socket::For::kReading, deadline));
    SHOAL_ASSIGN(const size_t n, socket_.receive(received_));
    if (n == 0) continue;
    if (tap_) tap_(std::span(received_).first(n));
    begin_ = 0;
    end_ = n;
    more_is_likely_ = n == received_.size();
    return {};
  }
}

Status TlsStream::write(std::span<const Bytes> pieces, Deadline deadline) {
  // Bytes of an earlier write first, so that at most one call's bytes are held back
  // (Stream::write).
  SHOAL_TRY(flush(deadline));
  return encrypt(pieces);
}

Status TlsStream::encrypt(std::span<const Bytes> pieces) {
  gathered_.clear();
  for (const Bytes piece : pieces) {
    const bool direct = piece.size() >= kGatherBytes;
    if (!gathered_.empty() && (direct || gathered_.size() + piece.size() > kRecordBytes)) {
      SHOAL_TRY(encrypt_record(gathered_));
      gathered_.clear();
    }
    if (!direct) gathered_.insert(gathered_.end(), piece.begin(), piece.end());
    // Record by record, so that a reader need not wait for all of it.
    for (Bytes left = direct ? piece : Bytes(); !left.empty();) {
      const size_t n = std::min(left.size(), kRecordBytes);
      SHOAL_TRY(encrypt_record(left.first(n)));
      left = left.subspan(n);
    }
  }
  return gathered_.empty() ? Status() : encrypt_record(gathered_);
}

Status TlsStream::encrypt_record(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  SHOAL_TRY(renew_key());
  ERR_clear_error();
  size_t n = 0;
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &n) != 1)
    return broken(*ssl_, SSL_get_error(ssl_.get(), 0));
  since_renewal_ += n;
  return {};
}

Status TlsStream::renew_key() {
  if (since_renewal_ < kRenewAfterBytes) return {};
  since_renewal_ = 0;
  // Takes effect with the next write. Fails if the peer has left a handshake message half sent.
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1) return {};
  return openssl_failure(Code::kUnavailable, "cannot renew the key of the connection");
}

Status TlsStream::flush(Deadline deadline) {
  for (;;) {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sent_ = 0;
      const std::lock_guard lock(mutex_);
      if (encrypted_.empty()) return {};
      sending_.swap(encrypted_);
    }
    SHOAL_ASSIGN(const size_t n, socket_.send(Bytes(sending_).subspan(sent_)));
    sent_ += n;
    if (n == 0) SHOAL_TRY(socket_.wait(Socket::For::kWriting, deadline));
  }
}

}  // namespace shoal::net
