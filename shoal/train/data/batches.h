// Batches of examples, to learn from or to be measured on. A batch is a function of the seed and of
// its place: no thread and no batch before it changes what is in it, so that training can go on
// where it was interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"
#include "shoal/train/data/augment.h"
#include "shoal/train/data/dataset.h"

namespace shoal {

struct Batch {
  Tensor images;                 // [batch, ...]
  Tensor labels;                 // i64 [batch]
  std::vector<size_t> examples;  // which they are, in the data set
  size_t fresh = 0;  // how many, from the first on, are no repetition that fills the batch up
};

struct BatchOptions {
  size_t batch = 64;
  uint64_t seed = 1;
  bool shuffle = false;  // another order every epoch; what does not fill a batch is left out
  Augment augment = {};
  int64_t classes = 0;  // labels are below; 0: any label is taken
  // An example that cannot be read, or has a label that is no class: the next one of the epoch
  // takes its place, or the batch is refused.
  Damaged damaged = Damaged::kRefuse;
  // The examples of step number n, counted over all epochs, in place of `batch` of them in order:
  // batches differ in size, and may be empty. Called by any threads at once. Null: as above.
  // REQUIRES: `damaged` is kRefuse.
  std::function<std::vector<size_t>(uint64_t step)> choose = {};
};

class Batches {
 public:
  // An image as the network takes it: [1, ...].
  using Prepare = std::function<Result<Tensor>(const Tensor& image)>;

  // The data set outlives this.
  Batches(const Dataset& data, Prepare prepare, const BatchOptions& options)
      : data_(data), prepare_(std::move(prepare)), options_(options) {}

  size_t per_epoch() const;

  // Any threads at once.
  Result<Batch> at(uint64_t epoch, size_t index) const;

  // The examples that could not be read so far and were passed over, by file and byte.
  std::vector<std::string> skipped() const;

 private:
  struct Order {
    uint64_t epoch;
    std::vector<size_t> examples;
  };
  std::shared_ptr<const Order> order_of(uint64_t epoch) const;
  Result<Example> read(uint64_t epoch, size_t example) const;
  Result<Example> read_or_next(const Order& order, size_t place, size_t& example) const;

  const Dataset& data_;
  Prepare prepare_;
  BatchOptions options_;

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Order> last_;  // batches of one epoch come together
  mutable std::set<std::string> skipped_;
};

// The examples [0, count) in an order that depends on the stream alone.
std::vector<size_t> shuffled(size_t count, RandomStream random);

}  // namespace shoal
