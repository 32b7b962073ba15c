// RemoteServer: another server by its URL, asked over HTTP with binary tensors.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/base/threads/task_thread.h"
#include "shoal/serve/engine/remote.h"
#include "shoal/serve/engine/server_link.h"
#include "shoal/serve/http/client_pool.h"

namespace shoal::serve {

struct RemoteServerOptions {
  std::string url;                // "http://host:port" or "https://host:port"
  HttpClientOptions client = {};  // its timeout is that of a request
  size_t most = 8;                // requests at a time
};

// The server at a URL, with a file with the key of requests, and a file with certificates (PEM)
// that its own must lead to; an empty name: none, or the system's. Fails as these files do.
Result<RemoteServerOptions> remote_server(const std::string& url, const std::string& key_file,
                                          const std::string& trust_file,
                                          std::chrono::milliseconds timeout);

class RemoteServer final : public Remote {
 public:
  explicit RemoteServer(RemoteServerOptions options);
  // Waits for requests in progress, which their timeout ends.
  ~RemoteServer() override = default;

  bool is_up(Time now) override;
  void infer(const std::string& model, InferRequest request,
             std::function<void(Result<InferResponse>)> done) override;

  // Pings it now.
  void ask();

 private:
  Result<InferResponse> exchange(const std::string& model, const InferRequest& request);
  // Loads it there if it is known, or can be made, and is not loaded. True: retry the request.
  static bool load(HttpClient& client, const std::string& model);
  void note(bool reached);

  const RemoteServerOptions options_;
  ClientPool clients_;
  std::mutex mutex_;
  Link link_;
  std::vector<size_t> waiting_;                       // of each thread
  std::vector<std::unique_ptr<TaskThread>> threads_;  // last: their tasks use the rest
};

}  // namespace shoal::serve
