// Api: answers HTTP requests by the engine: the Open Inference Protocol's calls, metrics, the page.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "shoal/base/task_thread.h"
#include "shoal/serve/engine/engine.h"
#include "shoal/serve/http/reply.h"
#include "shoal/serve/protocol/call.h"

namespace shoal::serve {

struct ApiOptions {
  std::string version;          // of the program
  bool triton_metrics = false;  // see print_metrics()
};

// Thread-safe.
class Api {
 public:
  // REQUIRES: `engine` outlives it.
  Api(Engine& engine, ApiOptions options) : engine_(engine), options_(std::move(options)) {}

  // Calls `done` once, now or later, on any thread.
  void answer(const HttpRequest& request, const ReplyTo& done);
  // Says that it is not ready from now on. Requests are answered all the same.
  void drain() { draining_ = true; }

 private:
  void answer_call(const Call& call, const HttpRequest& request, const ReplyTo& done);
  Reply document(const Call& call, const HttpRequest& request);
  Result<std::shared_ptr<ServedModel>> find_model(const Call& call) const;
  void infer(const Call& call, const HttpRequest& request, const ReplyTo& done);
  void classify(const Call& call, const HttpRequest& request, const ReplyTo& done);
  void load(const Call& call, const ReplyTo& done);
  bool is_ready() const;

  Engine& engine_;
  const ApiOptions options_;
  std::atomic<bool> draining_ = false;
  TaskThread loader_;  // last: its tasks use the rest
};

}  // namespace shoal::serve
