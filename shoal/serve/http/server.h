// Server: an HTTP/1.1 server for models on one device.
//
//   SHOAL_ASSIGN(const auto server, Server::start(sources, *device, options));
//   std::puts(server->url().c_str());
//   ... until somebody wants it to end
//   server->drain();
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/engine/engine.h"
#include "shoal/serve/http/api.h"
#include "shoal/serve/http/connection.h"

namespace shoal::serve {

struct ServerOptions {
  std::string listen = "127.0.0.1:8000";  // numbers only; port 0 chooses one
  size_t max_connections = 512;
  ConnectionLimits limits;
  EngineOptions engine;
  ApiOptions api;
  // For clients to send one more request on connections that they keep, and learn that it was the
  // last.
  std::chrono::milliseconds drain_grace{500};
  std::chrono::milliseconds drain_time{30'000};  // for all requests to be answered
};

// Thread-safe.
class Server {
 public:
  // Listens, loads all models, and answers requests from then on. Fails if a model cannot be
  // loaded. REQUIRES: `device` outlives it; names are different.
  static Result<std::unique_ptr<Server>> start(const std::vector<ModelSource>& sources,
                                               Device& device, const ServerOptions& options);
  ~Server();  // ends all connections

  std::string url() const;  // "http://127.0.0.1:8000"
  // Takes no more connections, answers what was asked, and returns when that is done. False if it
  // was not within drain_time.
  bool drain();

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal::serve
