// Connection: one client's requests, each answered before the next is read.
//
// At any time one operation is in progress: reading, answering or writing. When it ends, the next
// is started on the same thread, so that a connection needs no lock. Other threads only ask for its
// state, and end it by shutting its socket down.
//
// A refused request costs little: its body is not copied, and a client that retries at once waits
// for its turn, so that refused clients leave the cores to others.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "shoal/serve/http/aligned_body.h"
#include "shoal/serve/http/reply.h"
#include "shoal/serve/queue/throttle.h"

namespace shoal::serve {

struct ConnectionLimits {
  uint32_t header_bytes = 16 * 1024;
  uint64_t body_bytes = uint64_t{64} << 20;
  std::chrono::milliseconds header_time{10'000};  // from its first byte
  std::chrono::milliseconds body_time{60'000};
  std::chrono::milliseconds idle_time{75'000};  // between two requests
  std::chrono::milliseconds write_time{60'000};
  std::chrono::milliseconds close_time{2'000};  // for a client to read the last answer
};

// Bounds the bytes of the bodies of all requests, from their first byte to their answer.
// Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(uint64_t bytes) : free_(bytes) {}

  bool take(uint64_t bytes) {
    uint64_t free = free_;
    while (free >= bytes && !free_.compare_exchange_weak(free, free - bytes)) {
    }
    return free >= bytes;
  }
  void give_back(uint64_t bytes) { free_ += bytes; }

 private:
  std::atomic<uint64_t> free_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  // Shared by all connections of a server.
  struct Shared {
    ConnectionLimits limits;
    BodyBudget& bodies;
    Pace& refusals;
    boost::asio::ssl::context* tls = nullptr;  // null: without
    std::function<Verdict(const HttpHead&)> judge;
    std::function<void(const HttpRequest&, const ReplyTo&)> answer;
    std::function<bool()> is_draining;  // this answer is the last
  };

  enum class State { kIdle, kHeader, kBody, kAnswering, kWriting, kClosing };

  // REQUIRES: `shared` outlives it.
  Connection(Socket socket, const Shared& shared);
  ~Connection();

  void start();

  State state() const { return state_; }
  uint64_t client() const { return client_; }
  Time since() const;  // it has been in this state
  // Ends it if it takes too long, and cancels the request if the client is gone. Returns whether it
  // did the latter.
  bool check(Time now);
  void shut_down();  // whatever is under way fails soon
  bool is_shut_down() const { return is_shut_down_; }

 private:
  void enter(State state);
  void read_request();
  void read_more();
  void parse();
  void judge();
  bool has_room();
  void free_room();
  void answer();
  void write(Reply reply);
  void write_rest();
  void written();
  void farewell();
  void discard();
  void skip_body();
  void skip_more();
  void rest();
  void refuse(unsigned status, const std::string& why);
  std::chrono::milliseconds limit() const;

  template <class Buffers, class Handler>
  void read_some(const Buffers& buffers, Handler handler);
  template <class Buffers, class Handler>
  void write_all(const Buffers& buffers, Handler handler);
  bool is_client_gone();

  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  const Shared& shared_;
  const ConnectionLimits& limits_;
  const uint64_t client_;

  std::atomic<State> state_ = State::kIdle;
  std::atomic<int64_t> since_ns_ = 0;
  std::atomic<bool> is_shut_down_ = false;

  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<AlignedBody>> parser_;
  HttpHead request_head_;
  std::optional<Reply> refusal_;  // to be sent before the body has come
  uint64_t skip_ = 0;             // bytes of a refused body that are still to come
  uint64_t skipped_ = 0;
  bool waits_for_many_ = false;  // bytes, before it is told that there are some
  Time refused_{};               // the last time
  boost::asio::steady_timer rested_;
  uint64_t room_ = 0;  // taken from the budget for the body
  bool continue_sent_ = false;
  bool keep_alive_ = true;
  std::mutex stop_mutex_;                 // check() stops requests, on other threads
  std::optional<std::stop_source> stop_;  // of the request that is being answered
  std::string head_;
  Reply reply_;
};

}  // namespace shoal::serve
