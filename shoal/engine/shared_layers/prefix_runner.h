// PrefixRunner: runs the first layers of several networks once for an input [Han 2016]. Requests
// about the same input, at the same time or one soon after another, share what it gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"

namespace shoal::prefix {

// Thread-safe.
class PrefixRunner {
 public:
  // What the prefix gives, in the order of its outputs.
  using Values = std::shared_ptr<const std::vector<Tensor>>;

  // Keeps what it made of the last `kept` inputs. Fails as the device does. REQUIRES: `device`
  // outlives it; kept > 0.
  static Result<std::unique_ptr<PrefixRunner>> create(Device& device, const Graph& prefix,
                                                      size_t kept = 4);

  // Runs unless it has run for inputs with the same elements lately; where it is running for them,
  // waits. Fails as the device does, and with kInvalidArgument for inputs of another type.
  Result<Values> run(std::span<const Tensor> inputs);

  uint64_t runs() const;  // of the prefix
  uint64_t uses() const;  // of what it gave

 private:
  struct Entry {
    std::vector<Tensor> inputs;
    std::shared_future<Result<Values>> values;
  };

  PrefixRunner(std::unique_ptr<Executable> executable, std::vector<TensorType> types, size_t kept)
      : executable_(std::move(executable)), types_(std::move(types)), kept_(kept) {}
  Result<Values> compute(std::span<const Tensor> inputs) const;

  const std::unique_ptr<Executable> executable_;
  const std::vector<TensorType> types_;  // of inputs
  const size_t kept_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // the last used one last
  uint64_t runs_ = 0, uses_ = 0;
};

}  // namespace shoal::prefix
