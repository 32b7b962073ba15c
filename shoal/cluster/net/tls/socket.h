// Socket: a connected TCP socket, owned. Every call except wait() returns at once.
#pragma once

#include <cstddef>
#include <span>

#include "shoal/base/status.h"
#include "shoal/cluster/net/frame.h"

namespace shoal::net {

class Socket {
 public:
  explicit Socket(int fd);  // sets it up: no delays, few unsent bytes in the kernel
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }

  // The number of bytes; 0 if it would block. kUnavailable if the peer is gone.
  Result<size_t> receive(std::span<std::byte> into);
  Result<size_t> send(Bytes bytes);

  enum class For { kReading, kWriting };
  Status wait(For what, Deadline deadline);

  // From any thread.
  void shut_down();

 private:
  int fd_;
};

}  // namespace shoal::net
