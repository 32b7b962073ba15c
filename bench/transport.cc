// Channels against what they are made of, in one process over the loopback interface, interleaved:
// plain TCP sockets, bare OpenSSL on TCP sockets, asio's TLS streams, and our channel. One JSON
// line per way with the median over rounds, and a line of ratios. build/release/bench_transport
// [ROUNDS]
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/net/enrol/authority.h"
#include "shoal/cluster/net/tls/tls.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::net {
namespace {

namespace asio = boost::asio;

constexpr size_t kBulkBytes = size_t{1} << 20;
constexpr int kBulkMessages = 256;
constexpr size_t kSmallBytes = 64;
constexpr int kRoundTrips = 2000;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "bench_transport: %s failed\n", what);
  std::exit(1);
}

template <class T>
T require(Result<T> result) {
  require(result.ok(), std::string(result.status().message()).c_str());
  return *std::move(result);
}

// One end of a connection that carries messages whose size both ends know.
class End {
 public:
  virtual ~End() = default;
  virtual void send(Bytes message) = 0;
  virtual void receive(std::span<std::byte> message) = 0;
};

struct Connection {
  std::unique_ptr<End> left;
  std::unique_ptr<End> right;
};

std::pair<int, int> tcp_pair() {
  const int door = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  require(::bind(door, where, size) == 0 && ::listen(door, 1) == 0, "listen");
  require(::getsockname(door, where, &size) == 0, "getsockname");
  const int left = ::socket(AF_INET, SOCK_STREAM, 0);
  require(::connect(left, where, size) == 0, "connect");
  const int right = ::accept(door, nullptr, nullptr);
  ::close(door);
  for (const int fd : {left, right}) {
    const int on = 1;
    require(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
  }
  return {left, right};
}

class TcpEnd final : public End {
 public:
  explicit TcpEnd(int fd) : fd_(fd) {}
  ~TcpEnd() override { ::close(fd_); }
  void send(Bytes message) override {
    while (!message.empty()) {
      const ssize_t n = ::send(fd_, message.data(), message.size(), 0);
      require(n > 0, "send");
      message = message.subspan(static_cast<size_t>(n));
    }
  }
  void receive(std::span<std::byte> message) override {
    while (!message.empty()) {
      const ssize_t n = ::recv(fd_, message.data(), message.size(), 0);
      require(n > 0, "recv");
      message = message.subspan(static_cast<size_t>(n));
    }
  }

 private:
  int fd_;
};

class OpensslEnd final : public End {
 public:
  OpensslEnd(SSL_CTX& context, int fd, bool client) : fd_(fd), ssl_(SSL_new(&context)) {
    SSL_set_fd(ssl_.get(), fd);
    client ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
  }
  ~OpensslEnd() override { ::close(fd_); }
  void shake_hands() { require(SSL_do_handshake(ssl_.get()) == 1, "handshake"); }
  void send(Bytes message) override {
    size_t n = 0;
    require(SSL_write_ex(ssl_.get(), message.data(), message.size(), &n) == 1, "SSL_write");
  }
  void receive(std::span<std::byte> message) override {
    while (!message.empty()) {
      size_t n = 0;
      require(SSL_read_ex(ssl_.get(), message.data(), message.size(), &n) == 1, "SSL_read");
      message = message.subspan(n);
    }
  }

 private:
  int fd_;
  SslPtr ssl_;
};

class AsioEnd final : public End {
 public:
  AsioEnd(SSL_CTX& context, int fd, asio::ssl::stream_base::handshake_type side)
      : side_(side), socket_(io_, asio::ip::tcp::v4(), fd), stream_(socket_, borrow(context)) {}
  void shake_hands() { stream_.handshake(side_); }
  void send(Bytes message) override {
    asio::write(stream_, asio::buffer(message.data(), message.size()));
  }
  void receive(std::span<std::byte> message) override {
    asio::read(stream_, asio::buffer(message.data(), message.size()));
  }

 private:
  asio::ssl::context& borrow(SSL_CTX& context) {
    SSL_CTX_up_ref(&context);
    context_ = std::make_unique<asio::ssl::context>(&context);
    return *context_;
  }
  asio::ssl::stream_base::handshake_type side_;
  asio::io_context io_;
  std::unique_ptr<asio::ssl::context> context_;
  asio::ip::tcp::socket socket_;
  asio::ssl::stream<asio::ip::tcp::socket&> stream_;
};

class ChannelEnd final : public End {
 public:
  explicit ChannelEnd(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  void send(Bytes message) override {
    const bool small = message.size() <= kSmallBytes;
    const FrameView frame{.control = small ? message : Bytes(),
                          .payload = {&message, small ? 0u : 1u}};
    require(channel_->send(frame, after(std::chrono::seconds(60))).ok(), "send");
  }
  void receive(std::span<std::byte> message) override {
    const Place place = [&](Bytes, size_t) -> Result<Buffer> { return Buffer{nullptr, message}; };
    const Frame frame = require(channel_->receive(after(std::chrono::seconds(60)), place));
    if (!frame.control.empty()) std::ranges::copy(frame.control, message.begin());
  }

 private:
  std::shared_ptr<Channel> channel_;
};

template <class E>
Connection shaken(std::unique_ptr<E> left, std::unique_ptr<E> right) {
  std::thread other([&] { right->shake_hands(); });
  left->shake_hands();
  other.join();
  return {std::move(left), std::move(right)};
}

struct Way {
  const char* name;
  Connection connection;
  std::vector<double> bulk_gbs;  // gigabytes a second
  std::vector<double> send_cpu;  // seconds of CPU per gigabyte
  std::vector<double> receive_cpu;
  std::vector<double> trip_us;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of this thread.
double cpu_seconds() {
  timespec time{};
  require(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "clock_gettime");
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void measure_bulk(Way& way, Bytes out, std::span<std::byte> in) {
  const double gigabytes = 1e-9 * static_cast<double>(kBulkBytes) * kBulkMessages;
  const double began = now();
  std::thread sender([&] {
    for (int i = 0; i < kBulkMessages; ++i) way.connection.left->send(out);
    way.send_cpu.push_back(cpu_seconds() / gigabytes);
  });
  const double cpu_began = cpu_seconds();
  for (int i = 0; i < kBulkMessages; ++i) way.connection.right->receive(in);
  way.receive_cpu.push_back((cpu_seconds() - cpu_began) / gigabytes);
  way.bulk_gbs.push_back(gigabytes / (now() - began));
  sender.join();
}

void measure_trips(Way& way) {
  std::vector<std::byte> message(kSmallBytes), answer(kSmallBytes);
  std::thread echo([&] {
    for (int i = 0; i < kRoundTrips; ++i) {
      way.connection.right->receive(answer);
      way.connection.right->send(answer);
    }
  });
  const double began = now();
  for (int i = 0; i < kRoundTrips; ++i) {
    way.connection.left->send(message);
    way.connection.left->receive(message);
  }
  way.trip_us.push_back(1e6 * (now() - began) / kRoundTrips);
  echo.join();
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

// Of two ways in the same round, so that what else the machine does falls on both.
double ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return quantile(ratios, 0.5);
}

Identity make_bench_identity() {
  const auto folder =
      std::filesystem::temp_directory_path() / ("shoal-bench-" + std::to_string(::getpid()));
  const Time today = std::chrono::system_clock::now();
  const Authority authority = require(Authority::create(folder, today));
  Identity identity = require(authority.issue("bench", today));
  std::filesystem::remove_all(folder);
  return identity;
}

std::vector<Way> connect_all(const Identity& identity, SSL_CTX& context) {
  std::vector<Way> ways;
  const auto [tcp_left, tcp_right] = tcp_pair();
  ways.push_back({"tcp",
                  {std::make_unique<TcpEnd>(tcp_left), std::make_unique<TcpEnd>(tcp_right)},
                  {},
                  {},
                  {},
                  {}});
  const auto [tls_left, tls_right] = tcp_pair();
  ways.push_back({"openssl",
                  shaken(std::make_unique<OpensslEnd>(context, tls_left, true),
                         std::make_unique<OpensslEnd>(context, tls_right, false)),
                  {},
                  {},
                  {},
                  {}});
  const auto [asio_left, asio_right] = tcp_pair();
  ways.push_back(
      {"asio",
       shaken(std::make_unique<AsioEnd>(context, asio_left, asio::ssl::stream_base::client),
              std::make_unique<AsioEnd>(context, asio_right, asio::ssl::stream_base::server)),
       {},
       {},
       {},
       {}});
  const auto transport = require(make_tls_transport(identity));
  const auto listener = require(transport->listen(":0"));
  auto left = require(transport->connect(listener->address(), after(std::chrono::seconds(10))));
  auto right = require(listener->accept(after(std::chrono::seconds(10))));
  ways.push_back({"channel",
                  {std::make_unique<ChannelEnd>(std::move(left)),
                   std::make_unique<ChannelEnd>(std::move(right))},
                  {},
                  {},
                  {},
                  {}});
  return ways;
}

void report(const std::vector<Way>& ways) {
  for (const Way& way : ways)
    std::printf(
        "{\"bench\":\"transport\",\"way\":\"%s\",\"bulk_gb_per_s\":%.3f,\"p10\":%.3f,\"p90\":%.3f,"
        "\"send_cpu_s_per_gb\":%.3f,\"receive_cpu_s_per_gb\":%.3f,\"round_trip_us\":%.1f,\"trip_"
        "p10\":%.1f,\"trip_p90\":%.1f}\n",
        way.name, quantile(way.bulk_gbs, 0.5), quantile(way.bulk_gbs, 0.1),
        quantile(way.bulk_gbs, 0.9), quantile(way.send_cpu, 0.5), quantile(way.receive_cpu, 0.5),
        quantile(way.trip_us, 0.5), quantile(way.trip_us, 0.1), quantile(way.trip_us, 0.9));
  const Way& channel = ways.back();
  for (const Way& way : ways)
    if (&way != &channel)
      std::printf(
          "{\"bench\":\"transport\",\"channel_against\":\"%s\",\"bulk\":%.3f,"
          "\"round_trip\":%.3f}\n",
          way.name, ratio(channel.bulk_gbs, way.bulk_gbs), ratio(channel.trip_us, way.trip_us));
}

void run(int rounds, const std::string& only) {
  const Identity identity = make_bench_identity();
  const ContextPtr context = require(make_tls_context(identity));
  std::vector<Way> ways = connect_all(identity, *context);
  if (!only.empty()) std::erase_if(ways, [&](const Way& way) { return way.name != only; });
  const Buffer out = require(Buffer::allocate(kBulkBytes));
  const Buffer in = require(Buffer::allocate(kBulkBytes));
  std::ranges::fill(out.bytes, std::byte{7});
  for (int i = 0; i < rounds; ++i)
    for (Way& way : ways) {
      measure_bulk(way, out.bytes, in.bytes);
      measure_trips(way);
    }
  report(ways);
}

}  // namespace
}  // namespace shoal::net

int main(int argc, char** argv) {
  shoal::net::run(argc > 1 ? std::atoi(argv[1]) : 9, argc > 2 ? argv[2] : "");
}
