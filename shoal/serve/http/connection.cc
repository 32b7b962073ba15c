#include "shoal/serve/http/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

namespace shoal::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = 64 * 1024;

// Clients are told apart by their addresses: a client that opens more connections is no other one.
uint64_t client_of(const asio::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? 0 : std::hash<std::string>()(endpoint.address().to_string());
}

std::string copied(boost::beast::string_view text) { return {text.data(), text.size()}; }

unsigned status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  return 400;
}

}  // namespace

Connection::Connection(Socket socket, const ConnectionLimits& limits, Handler handle,
                       std::function<bool()> is_draining)
    : socket_(std::move(socket)),
      limits_(limits),
      handle_(std::move(handle)),
      is_draining_(std::move(is_draining)),
      client_(client_of(socket_)),
      buffer_(kReadBytes + limits.header_bytes) {}

// The socket is closed here and nowhere else, so that a thread that holds a connection may use its
// file descriptor.
Connection::~Connection() = default;

void Connection::start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  read_request();
}

void Connection::enter(State state) {
  since_ns_ = Clock::now().time_since_epoch().count();
  state_ = state;
}

Time Connection::since() const { return Time(Duration(since_ns_.load())); }

std::chrono::milliseconds Connection::limit() const {
  switch (state_.load()) {
    case State::kIdle:
      return limits_.idle_time;
    case State::kHeader:
      return limits_.header_time;
    case State::kBody:
      return limits_.body_time;
    case State::kClosing:
      return limits_.close_time;
    case State::kWriting:
      return limits_.write_time;
    case State::kAnswering:
      break;  // the engine ends it
  }
  return std::chrono::hours(24);
}

bool Connection::check(Time now) {
  if (now - since() > limit()) shut_down();
  if (state_ != State::kAnswering) return false;
  // A client that closed its side no longer waits. Bytes that it sent are the next request.
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  if (!is_gone) return false;
  const std::scoped_lock lock(stop_mutex_);
  return stop_ && stop_->request_stop();
}

void Connection::shut_down() { ::shutdown(socket_.native_handle(), SHUT_RDWR); }

void Connection::read_request() {
  parser_.emplace();
  parser_->header_limit(limits_.header_bytes);
  parser_->body_limit(limits_.body_bytes);
  parser_->eager(true);
  continue_sent_ = false;
  enter(State::kIdle);
  if (buffer_.size() == 0) return read_more();
  // Not from here: the stack would grow by each request that the client has sent ahead.
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->enter(State::kHeader);
    self->parse();
  });
}

void Connection::read_more() {
  const size_t size = std::min(kReadBytes, buffer_.max_size() - buffer_.size());
  socket_.async_read_some(buffer_.prepare(size),
                          [self = shared_from_this()](error_code error, size_t count) {
                            if (error) return;  // the last owner of the connection ends it
                            self->buffer_.commit(count);
                            if (self->state_ == State::kIdle) self->enter(State::kHeader);
                            self->parse();
                          });
}

void Connection::parse() {
  error_code error;
  while (!parser_->is_done() && buffer_.size() > 0) {
    const size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == http::error::need_more) {
      error = {};
      break;
    }
    if (error) return refuse(status_of(error), error.message());
    if (used == 0) break;
  }
  if (parser_->is_done()) return answer();
  if (parser_->is_header_done() && state_ == State::kHeader) enter(State::kBody);
  if (buffer_.size() == buffer_.max_size()) return refuse(431, "the header is too long");
  const bool waits = parser_->is_header_done() && !continue_sent_ &&
                     boost::beast::iequals(parser_->get()[http::field::expect], "100-continue");
  if (waits) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    continue_sent_ = true;
    socket_.write_some(asio::buffer(kContinue), error);
    if (error) return;
  }
  read_more();
}

void Connection::answer() {
  enter(State::kAnswering);
  auto& message = parser_->get();
  keep_alive_ = message.keep_alive();
  HttpRequest request;
  request.method = copied(message.method_string());
  request.target = copied(message.target());
  request.encoding = copied(message[http::field::content_encoding]);
  request.known_tag = copied(message[http::field::if_none_match]);
  request.body = message.body().bytes.take(message.body().json_bytes);
  request.client = client_;
  request.arrived = since();
  {
    const std::scoped_lock lock(stop_mutex_);
    request.cancel = stop_.emplace().get_token();
  }
  handle_(request, [self = shared_from_this()](Reply reply) { self->write(std::move(reply)); });
}

void Connection::refuse(unsigned status, const std::string& why) {
  Reply reply = failure_reply(invalid(why));
  reply.status = status;
  keep_alive_ = false;
  write(std::move(reply));
}

// Most answers fit into the socket's buffer at once.
void Connection::write(Reply reply) {
  {
    const std::scoped_lock lock(stop_mutex_);
    stop_.reset();
  }
  enter(State::kWriting);
  if (is_draining_()) keep_alive_ = false;
  reply_ = std::move(reply);
  head_ = head_of(reply_, keep_alive_);
  write_rest();
}

void Connection::write_rest() {
  std::vector<asio::const_buffer> buffers = {asio::buffer(head_), asio::buffer(reply_.body)};
  for (const Tensor& tensor : reply_.tensors) {
    buffers.emplace_back(tensor.bytes().data(), tensor.bytes().size());
  }
  error_code error;
  const size_t size = asio::buffer_size(buffers);
  size_t skip = socket_.write_some(buffers, error);
  if (error && error != asio::error::would_block) return;
  if (skip == size) return written();
  for (asio::const_buffer& buffer : buffers) {
    const size_t done = std::min(skip, buffer.size());
    buffer += done;
    skip -= done;
  }
  asio::async_write(socket_, buffers, [self = shared_from_this()](error_code failed, size_t) {
    if (!failed) self->written();
  });
}

void Connection::written() {
  reply_ = {};
  if (keep_alive_) return read_request();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  enter(State::kClosing);
  discard();
}

// To close a socket with unread bytes would reset the connection, and the client lose the answer.
void Connection::discard() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](error_code error, size_t) {
                            if (!error) self->discard();
                          });
}

}  // namespace shoal::serve
