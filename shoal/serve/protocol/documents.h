// The other documents of the Open Inference Protocol and Triton's extensions: metadata, health, the
// repository's index, statistics, errors. Values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/dtype.h"

namespace shoal::serve {

struct TensorMetadata {
  std::string name;
  std::optional<DType> dtype;  // nothing: not declared
  std::vector<int64_t> shape;  // -1: any size
};

struct ModelMetadata {
  std::string name;
  std::string version;
  std::vector<TensorMetadata> inputs;
  std::vector<TensorMetadata> outputs;
};

// With the extension "catalog" if there is one: GET /v2/catalog.
std::string print_server_metadata(std::string_view version, bool has_catalog);
std::string print(const ModelMetadata& metadata);
// kCorrupt if the text is no such document. Unknown members are ignored.
Result<ModelMetadata> parse_model_metadata(std::string_view json);

// Triton's configuration of a model, as far as it has a meaning here.
std::string print_config(const ModelMetadata& metadata, int64_t max_batch);

struct IndexEntry {
  std::string name;
  std::string version;
  std::string state;  // READY, LOADING, UNLOADING or UNAVAILABLE
  std::string reason;
};
std::string print(const std::vector<IndexEntry>& index);
// Whether a request for the index asks for ready models only. An empty body asks for all.
Result<bool> parse_index_request(std::string_view json);

// How often, and for how long in total.
struct Total {
  uint64_t count = 0;
  uint64_t ns = 0;

  void add(uint64_t nanoseconds) {
    ++count;
    ns += nanoseconds;
  }
};

struct BatchTotals {
  Total input, infer, output;
};

// A histogram of latencies, so that quantiles of any interval follow from two of them.
struct LatencyHistogram {
  // Seconds, the upper bounds of buckets; the last bucket has none.
  static constexpr std::array kBounds = {
      1e-5,   1.5e-5, 2e-5, 3e-5, 5e-5, 7e-5, 1e-4,   1.5e-4, 2e-4, 3e-4, 5e-4, 7e-4, 1e-3,
      1.5e-3, 2e-3,   3e-3, 5e-3, 7e-3, 1e-2, 1.5e-2, 2e-2,   3e-2, 5e-2, 7e-2, 0.1,  0.15,
      0.2,    0.3,    0.5,  0.7,  1.0,  1.5,  2.0,    3.0,    5.0,  7.0,  10.0};
  std::array<uint64_t, kBounds.size() + 1> counts{};

  void add(uint64_t nanoseconds);
};

struct ModelStatistics {
  uint64_t last_inference_ms = 0;  // since 1970; 0: none yet
  uint64_t inferences = 0;         // items
  uint64_t executions = 0;         // batches
  Total success, fail, queue;      // of requests
  BatchTotals compute;             // of requests
  std::map<int64_t, BatchTotals> batches;
  LatencyHistogram latency;  // of requests that were answered
  // Why requests failed.
  uint64_t refused = 0, cancelled = 0, late = 0, failed = 0;
};

struct NamedStatistics {
  std::string name;
  std::string version;
  ModelStatistics statistics;
  size_t waiting = 0;  // requests
};
std::string print(const std::vector<NamedStatistics>& statistics);

std::string print_error(std::string_view message);

}  // namespace shoal::serve
