// Backend: the calls that clients may make, whatever the protocol. Doors (REST, gRPC) translate
// messages into these calls and their results back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/access/keys.h"
#include "shoal/serve/protocol/documents.h"
#include "shoal/serve/protocol/infer.h"

namespace shoal::serve {

// A model as a request names it.
struct ModelName {
  std::string name;
  std::string version;  // empty: any
};

// The client of a request, when it came, and its timeout.
struct Asker {
  uint64_t client = 0;
  Time arrived{};
  std::optional<Duration> timeout;  // beside the one that the request sets
  std::stop_token cancel;           // stopped if the answer is no longer needed
  bool is_passing = false;          // the calling thread is not to compute for others
};

struct InferResult {
  Status status;
  std::optional<Duration> retry_after;  // it was refused for now
  InferResponse response;
};

// Thread-safe. Virtual, so that a door may be a library that is loaded at run time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string version() const = 0;  // of the program
  // No model loads for the first time, the server is not ending, and no other one answers instead.
  virtual bool is_ready() const = 0;
  // Whether this server answers inferences: of several, only one may.
  virtual bool leads() const = 0;
  // Fails with kNotFound, or kUnavailable if the model is not loaded.
  virtual Result<ModelMetadata> metadata(const ModelName& model) const = 0;
  virtual Result<std::vector<NamedStatistics>> statistics(const ModelName& model) const = 0;
  virtual std::vector<IndexEntry> index(bool ready_only) const = 0;
  // Takes long: `done` is called once, later, on another thread.
  virtual void load(const std::string& model, std::function<void(Status)> done) = 0;
  virtual Status unload(const std::string& model) = 0;

  // Without keys, every client is accepted.
  virtual KeyCheck check_key(std::string_view authorization, KeyUse use, uint64_t address) = 0;
  // How a request that came now would be refused: see Engine::refusal().
  virtual std::optional<InferResult> refusal(const std::string& model, uint64_t client,
                                             uint32_t priority) = 0;
  // Whether a request for the model would be answered at once, faster than by another thread.
  virtual bool is_quick(const std::string& model) const = 0;
  // Calls `done` once, now or later. May compute meanwhile, on this thread and for others.
  virtual void infer(const ModelName& model, const InferRequest& request, const Asker& asker,
                     std::function<void(InferResult)> done) = 0;
  // Requests whose `cancel` was stopped are given up soon.
  virtual void cancel_stopped() = 0;
  // Calls it on one of the threads that compute.
  virtual void post(std::function<void()> task) = 0;
};

}  // namespace shoal::serve
