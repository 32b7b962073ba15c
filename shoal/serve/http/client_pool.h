// ClientPool: idle connections to one server.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "shoal/serve/http/http_client.h"

namespace shoal::serve {

// How to connect to a URL, with the key of requests (empty: none), and for https with certificates
// (PEM) that the server's must lead to; empty: the system's. Fails as net::make_client_context().
Result<HttpClientOptions> client_options(const std::string& url, std::string key,
                                         const std::string& trusted);

// Thread-safe.
class ClientPool {
 public:
  ClientPool(std::string url, HttpClientOptions how) : url_(std::move(url)), how_(std::move(how)) {}

  // An idle one, or a new one. Fails as HttpClient::connect().
  Result<HttpClient> take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        HttpClient client = std::move(idle_.back());
        idle_.pop_back();
        return client;
      }
    }
    return HttpClient::connect(url_, how_);
  }
  void give_back(HttpClient client) {
    const std::scoped_lock lock(mutex_);
    if (client.is_open()) idle_.push_back(std::move(client));
  }
  void forget_all() {
    const std::scoped_lock lock(mutex_);
    idle_.clear();
  }

 private:
  const std::string url_;
  const HttpClientOptions how_;
  std::mutex mutex_;
  std::vector<HttpClient> idle_;
};

}  // namespace shoal::serve
