// Connection: one client's requests, one after another, each answered before the next is read.
//
// At any time one operation is under way: reading, answering or writing. What follows it is started
// when it ends, on whichever thread that is, so that a connection needs no lock. Other threads
// only ask for its state, and end it by shutting its socket down.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
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

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Handler = std::function<void(const HttpRequest&, const ReplyTo&)>;
  using Socket = boost::asio::ip::tcp::socket;

  enum class State { kIdle, kHeader, kBody, kAnswering, kWriting, kClosing };

  // `handle` answers requests. `is_draining` says whether this answer is the last.
  Connection(Socket socket, const ConnectionLimits& limits, Handler handle,
             std::function<bool()> is_draining);
  ~Connection();

  void start();

  State state() const { return state_; }
  Time since() const;  // it has been in this state
  // Ends it if it takes too long, and cancels the request if the client is gone. Returns whether it
  // cancelled one.
  bool check(Time now);
  void shut_down();  // whatever is under way fails soon

 private:
  void enter(State state);
  void read_request();
  void read_more();
  void parse();
  void answer();
  void write(Reply reply);
  void write_rest();
  void written();
  void discard();
  void refuse(unsigned status, const std::string& why);
  std::chrono::milliseconds limit() const;

  Socket socket_;
  const ConnectionLimits& limits_;
  const Handler handle_;
  const std::function<bool()> is_draining_;
  uint64_t client_ = 0;

  std::atomic<State> state_ = State::kIdle;
  std::atomic<int64_t> since_ns_ = 0;

  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<AlignedBody>> parser_;
  bool continue_sent_ = false;
  bool keep_alive_ = true;
  std::mutex stop_mutex_;                 // check() stops requests, on other threads
  std::optional<std::stop_source> stop_;  // of the request that is being answered
  std::string head_;
  Reply reply_;
};

}  // namespace shoal::serve
