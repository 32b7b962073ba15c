// ServedModel: a model that was loaded and warmed: its sessions, its metadata, and how to run
// several requests as one batch.
//
// Batches have the sizes 1, 2, 4, ... up to the largest that is allowed, or beyond which a larger
// one no longer gives more answers per second, which is measured when the model is loaded. A batch
// of another size is padded with zeros.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/serve/engine/exit_server.h"
#include "shoal/serve/engine/model_source.h"
#include "shoal/serve/engine/shared_layers.h"
#include "shoal/serve/protocol/documents.h"

namespace shoal::serve {

// The inputs of one request, in the order of the session's.
using Inputs = std::vector<Tensor>;

// The inputs and outputs of a model, known even after it was unloaded.
struct ModelFacts {
  ModelSource source;
  ModelMetadata metadata = {};
  std::vector<TensorInfo> inputs = {};
  int64_t max_batch = 1;
  double ms = 0;  // of one item, as it was measured when it was loaded; 0: it was not
};

// Thread-safe.
class ServedModel {
 public:
  // Opens, compiles and measures. REQUIRES: `device` outlives it.
  static Result<std::shared_ptr<ServedModel>> load(const ModelSource& source, Device& device);

  const std::shared_ptr<const ModelFacts>& facts() const { return facts_; }
  const ModelSource& source() const { return facts_->source; }
  const ModelMetadata& metadata() const { return facts_->metadata; }
  const std::vector<TensorInfo>& inputs() const { return session_.inputs(); }
  const std::vector<std::string>& outputs() const { return session_.outputs(); }
  int64_t max_batch() const { return batched_.empty() ? 1 : batched_.rbegin()->first; }

  // Times of batches when the model was loaded, by their items.
  const std::map<int64_t, std::chrono::steady_clock::duration>& batch_times() const {
    return batch_times_;
  }
  // Whether the model has exits, and the request wishes for one.
  bool heeds(const Wish& wish) const { return exits_.has_value() && !wish.is_empty(); }
  // Answers requests together, each by its wish. REQUIRES: heeds() of each.
  Result<std::vector<ExitAnswers>> run_exits(std::span<const Tensor* const> requests,
                                             std::span<const Wish> wishes) const {
    return exits_->run(requests, wishes);
  }

  // Items of a request that may share a batch with others; 0 if it may not.
  int64_t batch_items(const Inputs& inputs) const;

  Result<std::vector<Tensor>> run(const Inputs& inputs, const RequestOptions& options);
  // Answers several requests together, each with its part of the outputs. REQUIRES: batch_items()
  // of each is above 0, and their sum is at most max_batch().
  Result<std::vector<std::vector<Tensor>>> run_batch(std::span<const Inputs* const> requests,
                                                     const RequestOptions& options);

 private:
  explicit ServedModel(Session session) : session_(std::move(session)) {}
  // For a model that shares its first layers.
  struct Shared {
    std::shared_ptr<prefix::PrefixRunner> first;
    std::shared_ptr<const SharedSuffix> parts;
    Session rest;
  };

  Status share(const ModelSource& source, Device& device);
  Result<std::vector<Tensor>> run_shared(const Inputs& inputs, const RequestOptions& options);
  void prepare_batches(const Model& model, Device& device, ModelFacts& facts);

  std::shared_ptr<const ModelFacts> facts_;
  Session session_;
  std::optional<ExitServer> exits_;
  std::optional<Shared> shared_;
  std::map<int64_t, Session> batched_;  // by items; empty: the model takes no batches
  std::map<int64_t, std::chrono::steady_clock::duration> batch_times_;
  TensorType item_;  // of a batch: its first dimension is 1
};

}  // namespace shoal::serve
