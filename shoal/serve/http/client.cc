#include "shoal/serve/http/client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <vector>

#include "shoal/net/address.h"
#include "shoal/serve/http/aligned_body.h"

namespace shoal::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::beast::error_code;

constexpr uint64_t kLargestAnswer = uint64_t{1} << 30;

}  // namespace

class HttpClient::State {
 public:
  explicit State(std::string host) : host_(std::move(host)) {}

  Status connect(const net::Address& address) {
    error_code error;
    const auto found = tcp::resolver(io_).resolve(address.host, address.port, error);
    if (!error) asio::connect(socket_, found, error);
    if (!error) socket_.set_option(tcp::no_delay(true), error);
    return error ? Status(Code::kUnavailable, host_ + ": " + error.message()) : Status();
  }

  Result<HttpAnswer> ask(std::string head, const Message& message) {
    head += "Host: " + host_ + "\r\n\r\n";
    std::vector<asio::const_buffer> buffers = {asio::buffer(head), asio::buffer(message.json)};
    for (const Tensor& tensor : message.tensors) {
      buffers.emplace_back(tensor.bytes().data(), tensor.bytes().size());
    }
    error_code error;
    asio::write(socket_, buffers, error);
    http::response_parser<AlignedBody> parser;
    parser.body_limit(kLargestAnswer);
    if (!error) http::read(socket_, buffer_, parser, error);
    is_open_ = !error && parser.get().keep_alive();
    if (error) return Status(Code::kUnavailable, host_ + ": " + error.message());
    auto& body = parser.get().body();
    return HttpAnswer{parser.get().result_int(), body.bytes.take(body.json_bytes)};
  }

  bool is_open() const { return is_open_; }

 private:
  const std::string host_;
  asio::io_context io_;
  tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;
  bool is_open_ = true;
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::connect(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return invalid("an address begins with http://, not " + url);
  std::string host = url.substr(kScheme.size());
  if (host.ends_with('/')) host.pop_back();
  SHOAL_ASSIGN(const net::Address address, net::parse_address(host));
  auto state = std::make_unique<State>(host);
  SHOAL_TRY(state->connect(address));
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
