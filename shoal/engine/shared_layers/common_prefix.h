// The first layers that several networks have in common [Han 2016]: stored once, and run once for
// an input that all of them are asked about.
//
//   memory  = bytes of the prefix + the sum of those of the suffixes
//   compute = the prefix once for an input + the suffixes that are asked for
//
// A node is common if every network has one of the same operator, attributes and inputs, constants
// compared by their elements. Its inputs are then common, too. A node that computes an output of a
// network is never common: every network keeps a suffix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

namespace shoal::prefix {

// The remainder of one network.
struct Suffix {
  Graph graph;                        // its inputs are values of the prefix, then of the network
  std::vector<size_t> from_prefix;    // of the first inputs: which output of the prefix each is
  std::vector<size_t> from_networks;  // of the others: which input of the network each is
};

struct CommonPrefix {
  Graph prefix;  // the inputs of the networks; what suffixes read
  std::vector<Suffix> suffixes;
};

// The longest prefix of all networks, which passes have optimised. kInvalidArgument if they have
// nothing in common, or inputs of different types. REQUIRES: there is a network.
Result<CommonPrefix> common_prefix(std::span<const Graph> networks);

// PrefixRunner: runs the first layers of several networks once for an input [Han 2016]. Requests
// about the same input, at the same time or soon after one another, share the result. Thread-safe.
class PrefixRunner {
 public:
  // The results of the prefix, in the order of its outputs.
  using Values = std::shared_ptr<const std::vector<Tensor>>;

  // Keeps the results of the last `kept` inputs. Fails as the device does. REQUIRES: `device`
  // outlives it; kept > 0.
  static Result<std::unique_ptr<PrefixRunner>> create(Device& device, const Graph& prefix,
                                                      size_t kept = 4);

  // Returns the kept result of inputs with the same elements, waits for a run in progress, or runs.
  // Fails as the device does, and with kInvalidArgument for inputs of another type.
  Result<Values> run(std::span<const Tensor> inputs);

  uint64_t runs() const;  // of the prefix
  uint64_t uses() const;  // of its results

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
