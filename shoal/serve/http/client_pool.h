// ClientPool: connections to one server that are not in use.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "shoal/serve/http/http_client.h"

namespace shoal::serve {

// How to connect to a URL, with a key that requests show (empty: none), and for https with
// certificates (PEM) that the server's has to lead to; empty: those of the system. Fails as
// net::make_client_context().
Result<HttpClientOptions> client_options(const std::string& url, std::string key,
                                         const std::string& trusted);

// Thread-safe.
class ClientPool {
 public:
  ClientPool(std::string url, HttpClientOptions how) : url_(std::move(url)), how_(std::move(how)) {}

  // One that is not in use, or a new one. Fails as HttpClient::connect().
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
