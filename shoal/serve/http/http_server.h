// Server: an HTTP/1.1 server for models on one device, and beside it one for gRPC.
//
//   SHOAL_ASSIGN(const auto server, Server::start(sources, *device, options));
//   std::puts(server->url().c_str());
//   ... until it should end
//   server->drain();
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/access/keys.h"
#include "shoal/serve/engine/chooser.h"
#include "shoal/serve/engine/door.h"
#include "shoal/serve/engine/engine.h"
#include "shoal/serve/http/connection.h"
#include "shoal/serve/http/http_api.h"
#include "shoal/serve/http/remote_server.h"

namespace shoal::serve {

// Another server with the variants of the tasks, and the cost of asking it.
struct PlaceOptions {
  RemoteServerOptions server;  // an empty URL: there is none
  schedule::Cloud costs;
};

struct ServerOptions {
  std::string version;                    // of the program
  std::string listen = "127.0.0.1:8000";  // numbers only; port 0 chooses one
  std::string grpc;                       // as `listen`; empty: no gRPC
  TlsFiles tls;                           // of both
  std::shared_ptr<Keys> keys;             // null: every client may use it
  size_t max_connections = 512;
  ConnectionLimits limits;
  uint64_t max_bodies = uint64_t{256} << 20;  // bytes of all requests that wait for an answer
  EngineOptions engine;
  ChooserOptions tasks;  // the variants are among the models, as TASK.VARIANT
  PlaceOptions cloud, worker;
  Service::MakeSpecial make_special;  // for tasks.makes
  ApiOptions api;
  // Called before each answer of a model; null: always true. While false, the server is not ready,
  // and refuses inferences with 503.
  std::function<bool()> leads;
  // Time for clients to send one more request on kept connections, and learn that it was the last.
  std::chrono::milliseconds drain_grace{500};
  std::chrono::milliseconds drain_time{30'000};  // for all requests to be answered
};

// Thread-safe.
class Server {
 public:
  // Listens, loads all models, and answers requests from then on. Variants of tasks are measured
  // when they are loaded; if they do not fit the memory together, they are unloaded until they are
  // chosen. Fails if a model cannot be loaded. REQUIRES: `device` outlives it; names are different;
  // check() of options.tasks' catalog and budgets is OK, or it has no tasks.
  static Result<std::unique_ptr<Server>> start(const std::vector<ModelSource>& sources,
                                               Device& device, const ServerOptions& options);
  ~Server();  // ends all connections

  std::string url() const;       // "http://127.0.0.1:8000"
  std::string grpc_url() const;  // "grpc://127.0.0.1:8001"; empty: there is none
  // Takes no more connections, answers pending requests, and returns when that is done. False if it
  // was not within drain_time.
  bool drain();

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal::serve
