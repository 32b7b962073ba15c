// TlsStream: TLS on a socket. OpenSSL reads and writes memory only, so that its calls never block;
// its object is not safe for a reader and a writer at once, so calls are made under a lock, and
// system calls outside of it.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/crypto/openssl.h"
#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/net/tls/socket.h"

namespace shoal::net {

// For two threads. With few cores, a thread that takes a plain mutex again and again, such as a
// reader of bulk data, can starve the other until its peer counts as lost.
class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(next_);  // held while waiting: the releasing thread queues behind it
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex next_, mutex_;
};

class TlsStream final : public Stream {
 public:
  enum class Side { kClient, kServer };

  TlsStream(SSL_CTX& context, int fd, Side side);

  // One step of the handshake: nullopt when it is done, or else what to wait for.
  Result<std::optional<Socket::For>> shake_hands();

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) override;
  Status write(std::span<const Bytes> pieces, Deadline deadline) override;
  Status flush(Deadline deadline) override;
  bool has_input() override { return socket_.wait(Socket::For::kReading, kNoWait).ok(); }
  void shut_down() override { socket_.shut_down(); }

  void set_tap(Tap tap) { tap_ = std::move(tap); }  // before the first read
  SSL& ssl() { return *ssl_; }
  int fd() const { return socket_.fd(); }

 private:
  static BIO_METHOD* bio_method();
  static int bio_read(BIO* bio, char* into, size_t size, size_t* done);
  static int bio_write(BIO* bio, const char* from, size_t size, size_t* done);
  static long bio_control(BIO* bio, int command, long number, void* pointer);

  Result<size_t> decrypt(std::span<std::byte> into);
  Status encrypt(std::span<const Bytes> pieces);
  Status encrypt_record(Bytes bytes);
  Status fill(Deadline deadline);
  Status renew_key();

  Socket socket_;
  FairMutex mutex_;  // for ssl_ and what it writes to
  SslPtr ssl_;
  std::vector<std::byte> encrypted_;  // by OpenSSL, not yet the writer's
  uint64_t since_renewal_ = 0;        // bytes encrypted with the current key

  // The writer's.
  std::vector<std::byte> sending_;
  size_t sent_ = 0;  // of sending_
  std::vector<std::byte> gathered_;

  // The reader's.
  std::vector<std::byte> received_;
  size_t begin_ = 0;  // of what OpenSSL has not taken yet
  size_t end_ = 0;
  bool more_is_likely_ = false;
  Tap tap_;
};

}  // namespace shoal::net
