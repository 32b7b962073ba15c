// Shards: which examples of a data set each client has.
//
// kIid: the examples in random order, cut into equal pieces. kClasses: client c has examples of the
// classes c, c + 1, ... modulo their number, some of each at least and the rest in shares that are
// lognormal: few clients have most of the data (Li et al. 2020, MNIST: 2 classes, 10 examples at
// least, deviation 2). Where clients have more than all examples together, they share some.
//
// Memory: a few bytes per example and, with kClasses, 8 per client and class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::federated {

struct ShardOptions {
  enum class Split { kIid, kClasses };
  Split split = Split::kClasses;
  uint64_t clients = 1000;
  size_t classes = 2;    // kClasses: of a client
  size_t least = 10;     // examples of a client
  double deviation = 2;  // kClasses: of the logarithm of a client's share
  uint64_t seed = 1;
};

class Shards {
 public:
  // `labels` are those of the examples. kInvalidArgument where there are no examples, no clients,
  // or fewer classes in the data than a client should have.
  static Result<Shards> create(std::span<const int64_t> labels, const ShardOptions& options);

  // How many examples a client has, at least one; and which. REQUIRES: there is such a client.
  size_t size_of(uint64_t client) const;
  std::vector<size_t> of(uint64_t client) const;

 private:
  // Examples [begin, begin + count) of a class; after the last comes the first again.
  struct Part {
    uint32_t begin = 0, count = 0;
  };
  void deal_classes(const ShardOptions& options);

  size_t parts_per_client_ = 0;  // 0: equal pieces
  size_t piece_ = 0;
  std::vector<uint32_t> order_;  // of the examples: random, or class by class
  std::vector<size_t> begins_;   // of the classes in it, and the end
  std::vector<Part> parts_;      // of client 0, client 1, ...
};

}  // namespace shoal::federated
