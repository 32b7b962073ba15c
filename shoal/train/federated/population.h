// The clients of a federated run: which are present, which are invited, and how far each gets by
// the deadline. All is a function of seed, round and client number, so a million clients need no
// memory. No I/O; time is virtual.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"

namespace shoal::federated {

// A random permutation of [0, size) without a list: a Feistel cipher of four rounds, repeated until
// the number is below `size`.
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
  // The share of clients present in a round. Every kStay rounds the presence of a client is drawn
  // again.
  double present = 1;
  double stragglers = 0;    // share of the invited that do only part of their work
  double leaving = 0;       // share of the invited that leave and never report
  double step_seconds = 1;  // of a local step on the fastest client
  double slowest = 1;       // relative to the fastest; clients are spread evenly between
  double deadline = std::numeric_limits<double>::infinity();  // of a round, in seconds

  static constexpr uint64_t kStay = 10;
};

// kInvalidArgument for numbers that make no sense.
Status check(const Population& population);

bool is_present(const Population& population, uint64_t round, uint64_t client);

// Up to `count` distinct present clients, drawn uniformly; fewer if fewer are present.
std::vector<uint64_t> invite(const Population& population, uint64_t round, size_t count);
// The same, with `is_there` in place of is_present().
std::vector<uint64_t> invite(const Population& population, uint64_t round, size_t count,
                             const std::function<bool(uint64_t client)>& is_there);

// The work a client is asked to do.
struct LocalWork {
  int64_t epochs = 1;
  int64_t steps_per_epoch = 1;
  int64_t steps() const { return epochs * steps_per_epoch; }
};

// How much of it a client does.
struct Conduct {
  int64_t steps = 0;     // done by the deadline
  bool is_late = false;  // not all steps were done
  bool leaves = false;
  // When the client reports or its time is over; at most the deadline. A straggler's time is that
  // of the whole work.
  double seconds = 0;
};

// A straggler does a number of whole epochs drawn from [1, epochs): Li et al. 2020, section 5.2.
Conduct conduct_of(const Population& population, uint64_t round, uint64_t client,
                   const LocalWork& work);

// Shards: which examples of a data set each client has.
//
// kIid: the examples in random order, cut into equal pieces. kClasses: client c has examples of the
// classes c, c + 1, ... modulo their number, some of each and lognormal shares of the rest, so few
// clients have most of the data (Li et al. 2020, MNIST: 2 classes, at least 10 examples, deviation
// 2). If clients need more than all examples, they share some.
//
// Memory: a few bytes per example and, with kClasses, 8 per client and class.

struct ShardOptions {
  enum class Split { kIid, kClasses };
  Split split = Split::kClasses;
  uint64_t clients = 1000;
  size_t classes = 2;    // kClasses: of a client
  size_t least = 10;     // of a client, at least
  double deviation = 2;  // kClasses: of the logarithm of a client's share
  uint64_t seed = 1;
};

class Shards {
 public:
  // `labels` are those of the examples. kInvalidArgument without examples or clients, or if the
  // data has fewer classes than `classes`.
  static Result<Shards> create(std::span<const int64_t> labels, const ShardOptions& options);

  // The number of examples of a client, at least one, and their indices. REQUIRES: client <
  // clients.
  size_t size_of(uint64_t client) const;
  std::vector<size_t> of(uint64_t client) const;

 private:
  // Examples [begin, begin + count) of a class, modulo their number.
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
