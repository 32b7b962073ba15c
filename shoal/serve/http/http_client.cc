#include "shoal/serve/http/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "shoal/cluster/net/address.h"
#include "shoal/serve/http/aligned_body.h"

namespace shoal::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::beast::error_code;

using Clock = std::chrono::steady_clock;

}  // namespace

class HttpClient::State {
 public:
  State(std::string host, const HttpClientOptions& options)
      : host_(std::move(host)), timeout_(options.timeout), answer_bytes_(options.answer_bytes) {
    fields_ = "Host: " + host_ + "\r\n";
    if (!options.key.empty()) fields_ += "Authorization: Bearer " + options.key + "\r\n";
  }

  // Without TLS if there is no context.
  Status connect(const net::Address& address, SSL_CTX* context) {
    error_code error;
    const auto found = tcp::resolver(io_).resolve(address.host, address.port, error);
    deadline_ = Clock::now() + timeout_;
    if (!error) {
      step(
          error, [&] { asio::connect(socket_, found, error); },
          [&](auto done) { asio::async_connect(socket_, found, done); });
    }
    if (!error) socket_.set_option(tcp::no_delay(true), error);
    if (!error && context != nullptr) shake_hands(address.host, context, error);
    return error ? Status(Code::kUnavailable, host_ + ": " + error.message()) : Status();
  }

  Result<HttpAnswer> ask(std::string head, const Message& message) {
    head += fields_ + "\r\n";
    std::vector<asio::const_buffer> buffers = {asio::buffer(head), asio::buffer(message.json)};
    for (const Tensor& tensor : message.tensors) {
      buffers.emplace_back(tensor.bytes().data(), tensor.bytes().size());
    }
    error_code error;
    http::response_parser<AlignedBody> parser;
    parser.body_limit(answer_bytes_);
    deadline_ = Clock::now() + timeout_;
    const auto exchange = [&](auto& stream) {
      step(
          error, [&] { asio::write(stream, buffers, error); },
          [&](auto done) { asio::async_write(stream, buffers, done); });
      if (error) return;
      step(
          error, [&] { http::read(stream, buffer_, parser, error); },
          [&](auto done) { http::async_read(stream, buffer_, parser, done); });
    };
    if (tls_) {
      exchange(*tls_);
    } else {
      exchange(socket_);
    }
    is_open_ = !error && parser.get().keep_alive();
    if (error) return Status(Code::kUnavailable, host_ + ": " + error.message());
    auto& body = parser.get().body();
    return HttpAnswer{parser.get().result_int(), body.bytes.take(body.json_bytes)};
  }

  bool is_open() const { return is_open_; }

 private:
  // `wait` returns when an operation is done; `start` returns at once, and calls its argument then.
  // The first is faster, the second can be cancelled.
  template <class Wait, class Start>
  void step(error_code& error, const Wait& wait, const Start& start) {
    if (timeout_.count() == 0) return wait();
    bool is_done = false;
    start([&](error_code result, auto&&...) {
      error = result;
      is_done = true;
    });
    io_.restart();
    io_.run_until(deadline_);
    if (is_done) return;
    error_code ignored;
    socket_.close(ignored);
    io_.run();
    error = asio::error::timed_out;
  }

  // Numbers are no names to ask for (RFC 6066).
  void shake_hands(const std::string& name, SSL_CTX* context, error_code& error) {
    SSL_CTX_up_ref(context);
    context_.emplace(context);
    tls_.emplace(socket_, *context_);
    tls_->set_verify_callback(asio::ssl::host_name_verification(name));
    asio::ip::make_address(name, error);
    if (error) SSL_set_tlsext_host_name(tls_->native_handle(), name.c_str());
    error = {};
    constexpr auto kClient = asio::ssl::stream_base::client;
    step(
        error, [&] { tls_->handshake(kClient, error); },
        [&](auto done) { tls_->async_handshake(kClient, done); });
  }

  const std::string host_;
  const std::chrono::milliseconds timeout_;
  const uint64_t answer_bytes_;
  std::string fields_;  // of each request
  Clock::time_point deadline_{};
  asio::io_context io_;
  tcp::socket socket_{io_};
  std::optional<asio::ssl::context> context_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  boost::beast::flat_buffer buffer_;
  bool is_open_ = true;
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::connect(const std::string& url, const HttpClientOptions& options) {
  constexpr std::string_view kPlain = "http://", kTls = "https://";
  const bool is_tls = url.starts_with(kTls);
  if (!is_tls && !url.starts_with(kPlain)) {
    return invalid("an address begins with http:// or https://, not " + url);
  }
  if (is_tls && options.tls == nullptr) return invalid("https needs certificates to trust");
  std::string host = url.substr(is_tls ? kTls.size() : kPlain.size());
  if (host.ends_with('/')) host.pop_back();
  SHOAL_ASSIGN(const net::Address address, net::parse_address(host));
  auto state = std::make_unique<State>(host, options);
  SHOAL_TRY(state->connect(address, is_tls ? options.tls.get() : nullptr));
  return HttpClient(std::move(state));
}

Result<HttpAnswer> HttpClient::get(std::string_view path) {
  return state_->ask("GET " + std::string(path) + " HTTP/1.1\r\n", {});
}

Result<HttpAnswer> HttpClient::post(std::string_view path, const Message& message) {
  size_t size = message.json.size();
  for (const Tensor& tensor : message.tensors) size += tensor.bytes().size();
  std::string head =
      "POST " + std::string(path) + " HTTP/1.1\r\nContent-Length: " + std::to_string(size) + "\r\n";
  if (!message.tensors.empty()) {
    head += std::string(kJsonBytesHeader) + ": " + std::to_string(message.json.size()) + "\r\n";
  }
  return state_->ask(std::move(head), message);
}

bool HttpClient::is_open() const { return state_->is_open(); }

}  // namespace shoal::serve
