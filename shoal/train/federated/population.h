// The clients of a federated run: which are present, which are invited to a round, and how far each
// gets by the round's deadline. All of it is a function of the seed, the round and the client's
// number, so that a million clients need no memory. Nothing here does I/O; time is virtual.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"

namespace shoal::federated {

// The numbers [0, size) in an order that the stream decides, without a list of them: a Feistel
// cipher of four rounds, repeated until the number is below `size`.
class Permutation {
 public:
  // REQUIRES: size > 0.
  Permutation(uint64_t size, RandomStream random);
  // REQUIRES: i < size.
  uint64_t operator[](uint64_t i) const;

 private:
  uint64_t size_;
  unsigned half_;  // bits of each half of a number
  RandomStream random_;
};

struct Population {
  uint64_t clients = 1000;
  uint64_t seed = 1;
  // The share of the clients that is present in a round. They leave and join: after kStay rounds it
  // is drawn again whether a client is present.
  double present = 1;
  double stragglers = 0;    // share of the invited ones that only do part of their work
  double leaving = 0;       // share of them that leave within the round and never report
  double step_seconds = 1;  // that a local step takes the fastest client
  double slowest = 1;       // how many times as long it takes the slowest; those between are even
  double deadline = std::numeric_limits<double>::infinity();  // of a round, in seconds

  static constexpr uint64_t kStay = 10;
};

// kInvalidArgument for numbers without a meaning.
Status check(const Population& population);

bool is_present(const Population& population, uint64_t round, uint64_t client);

// Up to `count` present clients, all equally likely and none twice. Fewer where fewer are present:
// a round does not wait for clients.
std::vector<uint64_t> invite(const Population& population, uint64_t round, size_t count);
// The same, with `is_there` in place of is_present().
std::vector<uint64_t> invite(const Population& population, uint64_t round, size_t count,
                             const std::function<bool(uint64_t client)>& is_there);

// What a client is asked to do.
struct LocalWork {
  int64_t epochs = 1;
  int64_t steps_per_epoch = 1;
  int64_t steps() const { return epochs * steps_per_epoch; }
};

// What becomes of it.
struct Conduct {
  int64_t steps = 0;     // done by the deadline
  bool is_late = false;  // these are not all
  bool leaves = false;
  // When the server knows: the client has reported, or its time is over. At most the deadline. A
  // straggler has the time that its work takes others.
  double seconds = 0;
};

// A straggler does as many whole epochs as it draws from [1, epochs): Li et al. 2020, section 5.2.
Conduct conduct_of(const Population& population, uint64_t round, uint64_t client,
                   const LocalWork& work);

// Shards: which examples of a data set each client has.
//
// kIid: the examples in random order, cut into equal pieces. kClasses: client c has examples of the
// classes c, c + 1, ... modulo their number, some of each at least and the rest in shares that are
// lognormal: few clients have most of the data (Li et al. 2020, MNIST: 2 classes, 10 examples at
// least, deviation 2). Where clients have more than all examples together, they share some.
//
// Memory: a few bytes per example and, with kClasses, 8 per client and class.

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
