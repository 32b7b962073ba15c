#include "shoal/cluster/net/tls/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

namespace shoal::net {
namespace {

// Unsent bytes in the kernel cannot be overtaken by urgent frames: no more than keep a link busy.
constexpr int kUnsentBytes = 128 << 10;

void set(int fd, int level, int option, int value) {
  // A hint: without it things are slower and not wrong.
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

bool again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Status gone(int error) {
  return Status(Code::kUnavailable, "connection lost: " + std::generic_category().message(error));
}

timespec time_until(Deadline deadline) {
  using namespace std::chrono;
  // An hour at most, also for Deadline::max(): wait() looks at the deadline again.
  const auto left = std::clamp(duration_cast<nanoseconds>(deadline - steady_clock::now()),
                               nanoseconds(0), nanoseconds(hours(1)));
  const auto whole = duration_cast<seconds>(left);
  return {.tv_sec = static_cast<time_t>(whole.count()),
          .tv_nsec = static_cast<long>((left - whole).count())};
}

}  // namespace

Socket::Socket(int fd) : fd_(fd) {
  set(fd_, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytes);
}

Socket::~Socket() { ::close(fd_); }

Result<size_t> Socket::receive(std::span<std::byte> into) {
  const ssize_t n = ::recv(fd_, into.data(), into.size(), MSG_DONTWAIT);
  if (n > 0) return static_cast<size_t>(n);
  if (n == 0) return Status(Code::kUnavailable, "closed the connection");
  return again(errno) ? Result<size_t>(size_t{0}) : gone(errno);
}

Result<size_t> Socket::send(Bytes bytes) {
  const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0) return static_cast<size_t>(n);
  return again(errno) ? Result<size_t>(size_t{0}) : gone(errno);
}

Status Socket::wait(For what, Deadline deadline) {
  const short events = what == For::kReading ? POLLIN : POLLOUT;
  for (;;) {
    pollfd one{.fd = fd_, .events = events, .revents = 0};
    const timespec left = time_until(deadline);
    const int n = ::ppoll(&one, 1, &left, nullptr);
    if (n > 0) return {};  // also for errors, which the next call then reports
    if (n < 0 && !again(errno)) return gone(errno);
    if (std::chrono::steady_clock::now() >= deadline)
      return Status(Code::kDeadline,
                    what == For::kReading ? "nothing came" : "does not read what is sent");
  }
}

void Socket::shut_down() { (void)::shutdown(fd_, SHUT_RDWR); }

}  // namespace shoal::net
