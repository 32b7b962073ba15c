// HttpClient: a connection to a server, for one request after another.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/serve/protocol/infer.h"

typedef struct ssl_ctx_st SSL_CTX;

namespace shoal::serve {

struct HttpAnswer {
  unsigned status = 0;
  Body body;
};

struct HttpClientOptions {
  std::string key;  // that each request shows; empty: none
  // The TLS context: see net::make_client_context(). Needed for https.
  std::shared_ptr<SSL_CTX> tls;
  std::chrono::milliseconds timeout{0};  // to connect, and for an answer; 0: none
  uint64_t answer_bytes = uint64_t{1} << 30;
};

// Not thread-safe.
class HttpClient {
 public:
  // "http://host:port" or "https://host:port". kInvalidArgument for another text, kUnavailable if
  // no server answers there, or another host.
  static Result<HttpClient> connect(const std::string& url, const HttpClientOptions& options = {});

  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Sends a request and waits for its answer. After a failure, which is kUnavailable or kCorrupt,
  // the connection cannot be used any more.
  Result<HttpAnswer> get(std::string_view path);
  Result<HttpAnswer> post(std::string_view path, const Message& message);
  bool is_open() const;  // the server keeps the connection

 private:
  class State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal::serve
