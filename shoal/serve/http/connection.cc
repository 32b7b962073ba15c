#include "shoal/serve/http/connection.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
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
constexpr std::chrono::milliseconds kLate{40};  // an answer, for the system: see below

// The approximate cost of a refusal: system calls, and a nanosecond per some bytes.
constexpr std::chrono::microseconds kRefusalTime{20};
constexpr uint64_t kSkippedBytesPerNs = 3;

// Clients are identified by address: one that opens more connections is the same client.
uint64_t client_of(const asio::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? 0 : std::hash<std::string>()(endpoint.address().to_string());
}

// The system acknowledges a request by its answer. After one that was not answered within 40 ms, it
// acknowledges each by a separate packet, which costs a busy server the more the busier it is. This
// turns that off.
void acknowledge_by_answers(int socket) {
  const int off = 0;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
}

std::string copied(boost::beast::string_view text) { return {text.data(), text.size()}; }

unsigned status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  return 400;
}

using Parser = http::request_parser<AlignedBody>;

bool expects_continue(const Parser& parser) {
  return boost::beast::iequals(parser.get()[http::field::expect], "100-continue");
}

HttpHead head_from(const http::request<AlignedBody>& message, uint64_t client) {
  HttpHead head;
  head.method = copied(message.method_string());
  head.target = copied(message.target());
  head.encoding = copied(message[http::field::content_encoding]);
  head.type = copied(message[http::field::content_type]);
  head.host = copied(message[http::field::host]);
  head.origin = copied(message[http::field::origin]);
  head.fetch_site = copied(message["Sec-Fetch-Site"]);
  head.priority = copied(message["Shoal-Priority"]);
  head.authorization = copied(message[http::field::authorization]);
  head.known_tag = copied(message[http::field::if_none_match]);
  head.client = client;
  return head;
}

}  // namespace

Connection::Connection(Socket socket, const Shared& shared)
    : socket_(std::move(socket)),
      shared_(shared),
      limits_(shared.limits),
      client_(client_of(socket_)),
      buffer_(kReadBytes + shared.limits.header_bytes),
      rested_(socket_.get_executor()) {
  enter(State::kIdle);  // others may look at it before it is started
}

// The socket is closed here and nowhere else, so that a thread that holds a connection may use its
// file descriptor.
Connection::~Connection() { free_room(); }

void Connection::start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  if (shared_.tls == nullptr) return read_request();
  enter(State::kHeader);  // a handshake may take as long
  tls_.emplace(socket_, *shared_.tls);
  tls_->async_handshake(boost::asio::ssl::stream_base::server,
                        [self = shared_from_this()](error_code error) {
                          if (!error) self->read_request();
                        });
}

template <class Buffers, class Handler>
void Connection::read_some(const Buffers& buffers, Handler handler) {
  if (tls_) return tls_->async_read_some(buffers, std::move(handler));
  socket_.async_read_some(buffers, std::move(handler));
}

template <class Buffers, class Handler>
void Connection::write_all(const Buffers& buffers, Handler handler) {
  if (tls_) return asio::async_write(*tls_, buffers, std::move(handler));
  asio::async_write(socket_, buffers, std::move(handler));
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
  if (!is_client_gone()) return false;
  const std::scoped_lock lock(stop_mutex_);
  return stop_ && stop_->request_stop();
}

// A client that closed its side no longer waits. Bytes that it sent are the next request, or with
// TLS perhaps its farewell, behind which its end is seen by poll() only.
bool Connection::is_client_gone() {
  if (tls_) {
    pollfd end{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0;
  }
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

void Connection::shut_down() {
  is_shut_down_ = true;
  ::shutdown(socket_.native_handle(), SHUT_RDWR);
}

void Connection::read_request() {
  parser_.emplace();
  parser_->header_limit(limits_.header_bytes);
  parser_->body_limit(limits_.body_bytes);
  parser_->eager(false);  // it stops after the header
  refusal_.reset();
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
  read_some(buffer_.prepare(size), [self = shared_from_this()](error_code error, size_t count) {
    if (error) return;  // the last owner of the connection ends it
    self->buffer_.commit(count);
    if (self->state_ == State::kIdle) self->enter(State::kHeader);
    self->parse();
  });
}

void Connection::parse() {
  error_code error;
  while (!parser_->is_done() && buffer_.size() > 0) {
    const bool is_body = parser_->is_header_done();
    const size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == http::error::need_more) {
      error = {};
      break;
    }
    if (error) return refuse(status_of(error), error.message());
    if (!is_body && parser_->is_header_done()) judge();
    if (refusal_) return write(*std::move(refusal_));
    if (used == 0) break;
  }
  if (parser_->is_done()) return answer();
  if (parser_->is_header_done() && state_ == State::kHeader) enter(State::kBody);
  if (!has_room()) return refuse(503, "the server has no room for this body now");
  if (buffer_.size() == buffer_.max_size()) return refuse(431, "the header is too long");
  const bool waits = parser_->is_header_done() && !continue_sent_ && expects_continue(*parser_);
  if (!waits) return read_more();
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  continue_sent_ = true;
  write_all(asio::buffer(kContinue), [self = shared_from_this()](error_code failed, size_t) {
    if (!failed) self->read_more();
  });
}

// The head decides whether the body is of any use. If not, the client is told at once, a short body
// is skipped, and the connection goes on. It ends before a long one.
void Connection::judge() {
  constexpr uint64_t kShort = 1 << 20;
  const auto& message = parser_->get();
  keep_alive_ = message.keep_alive();
  request_head_ = head_from(message, client_);
  Verdict verdict = shared_.judge(request_head_);
  request_head_.client = verdict.client;
  parser_->eager(true);
  refusal_ = std::move(verdict.refusal);
  skip_ = 0;
  if (!refusal_ || parser_->is_done()) return;
  const auto length = parser_->content_length();
  if (!length || *length > kShort || expects_continue(*parser_)) {
    keep_alive_ = false;
  } else {
    skip_ = *length;
  }
}

// Whether the body fits the budget, or its received part if its length is unknown.
bool Connection::has_room() {
  if (!parser_->is_header_done()) return true;
  const auto length = parser_->content_length();
  const uint64_t wanted = length ? *length : parser_->get().body().bytes.size();
  if (wanted <= room_) return true;
  if (!shared_.bodies.take(wanted - room_)) return false;
  room_ = wanted;
  return true;
}

void Connection::free_room() { shared_.bodies.give_back(std::exchange(room_, 0)); }

void Connection::answer() {
  enter(State::kAnswering);
  auto& body = parser_->get().body();
  HttpRequest request;  // not a member: the next one may be read before answer() returns
  static_cast<HttpHead&>(request) = std::move(request_head_);
  request.body = body.bytes.take(body.json_bytes);
  request.arrived = since();
  parser_.reset();  // while its fields are in the caches
  {
    const std::scoped_lock lock(stop_mutex_);
    request.cancel = stop_.emplace().get_token();
  }
  shared_.answer(request,
                 [self = shared_from_this()](Reply reply) { self->write(std::move(reply)); });
}

void Connection::refuse(unsigned status, const std::string& why) {
  keep_alive_ = false;
  write(failure_reply(status, why));
}

// Most answers fit into the socket's buffer at once.
void Connection::write(Reply reply) {
  {
    const std::scoped_lock lock(stop_mutex_);
    stop_.reset();
  }
  const bool is_late = Clock::now() - since() >= kLate;
  enter(State::kWriting);
  if (is_late) acknowledge_by_answers(socket_.native_handle());
  free_room();
  if (shared_.is_draining()) keep_alive_ = false;
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
  size_t skip = tls_ ? 0 : socket_.write_some(buffers, error);
  if (error && error != asio::error::would_block) return;
  if (skip == size) return written();
  for (asio::const_buffer& buffer : buffers) {
    const size_t done = std::min(skip, buffer.size());
    buffer += done;
    skip -= done;
  }
  write_all(buffers, [self = shared_from_this()](error_code failed, size_t) {
    if (!failed) self->written();
  });
}

void Connection::written() {
  reply_ = {};
  if (keep_alive_) return refusal_ ? skip_body() : read_request();
  enter(State::kClosing);
  if (!tls_) return farewell();
  tls_->async_shutdown([self = shared_from_this()](error_code) { self->farewell(); });
}

void Connection::farewell() {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  discard();
}

void Connection::skip_body() {
  enter(State::kBody);
  const size_t here = std::min<uint64_t>(skip_, buffer_.size());
  buffer_.consume(here);
  skipped_ = here;
  skip_ -= here;
  skip_more();
}

// Without TLS, the system forgets the bytes and copies none, and says so when there are many of
// them and not before.
void Connection::skip_more() {
  constexpr uint64_t kMany = 256 * 1024;
  static std::array<std::byte, kMany> untouched;
  if (skip_ > 0 && tls_) {
    return tls_->async_read_some(asio::buffer(buffer_.prepare(kReadBytes), skip_),
                                 [self = shared_from_this()](error_code error, size_t got) {
                                   if (error) return;
                                   self->skipped_ += got;
                                   self->skip_ -= got;
                                   self->skip_more();
                                 });
  }
  error_code ignored;
  while (skip_ > 0) {
    const ssize_t got = ::recv(socket_.native_handle(), untouched.data(), std::min(skip_, kMany),
                               MSG_TRUNC | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
    if (got < 0) {
      const Socket::receive_low_watermark many(static_cast<int>(std::min(skip_, kMany)));
      socket_.set_option(many, ignored);
      waits_for_many_ = true;
      return socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
        if (!error) self->skip_more();
      });
    }
    skipped_ += static_cast<uint64_t>(got);
    skip_ -= static_cast<uint64_t>(got);
  }
  if (std::exchange(waits_for_many_, false)) {
    socket_.set_option(Socket::receive_low_watermark(1), ignored);
  }
  rest();
}

// A client that is refused for the second time within a second has not waited as told. Many clients
// that resume at the same time cost less than each at its own.
void Connection::rest() {
  constexpr std::chrono::seconds kSoon{1};
  constexpr std::chrono::milliseconds kStep{5};
  const Time now = Clock::now();
  const bool is_again = now - std::exchange(refused_, now) < kSoon;
  const Time next =
      shared_.refusals.done(now, kRefusalTime + Duration(skipped_ / kSkippedBytesPerNs));
  if (!is_again || next == now) return read_request();
  enter(State::kIdle);
  rested_.expires_at(Time((next.time_since_epoch() / kStep + 1) * kStep));
  rested_.async_wait([self = shared_from_this()](error_code) { self->read_request(); });
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
