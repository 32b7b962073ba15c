// Batches of examples for training and evaluation. A batch is a function of the seed and of its
// index, so that training can be resumed anywhere.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/data/augment.h"
#include "shoal/train/data/dataset.h"

namespace shoal {

// Augments u8 [h, w, c]; a pure function of its arguments. The result may share memory with
// `image`. REQUIRES: an image of at least one pixel, unless `options` changes nothing.
Tensor augment(const Tensor& image, const Augment& options, RandomStream random);

struct Batch {
  Tensor images;                 // [batch, ...]
  Tensor labels;                 // i64 [batch]
  std::vector<size_t> examples;  // their indices in the data set
  size_t fresh = 0;              // the first n; the others repeat examples to fill the batch
};

struct BatchOptions {
  size_t batch = 64;
  uint64_t seed = 1;
  bool shuffle = false;  // another order every epoch; an incomplete last batch is dropped
  Augment augment = {};
  int64_t classes = 0;  // labels are below; 0: any label is taken
  // Whether an example that cannot be read, or whose label is no class, fails its batch or is
  // replaced by the next of the epoch.
  Damaged damaged = Damaged::kRefuse;
  // The examples of step n, counted over all epochs; replaces `batch`. Batches may then differ in
  // size and be empty. Null: batches in order. Safe for concurrent use. REQUIRES: `damaged` is
  // kRefuse.
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

  // Safe for concurrent use by multiple threads.
  Result<Batch> at(uint64_t epoch, size_t index) const;

  // The unreadable examples that were passed over so far, by file and byte.
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

// Micro-batch `number` of `count` equal ones, along the first axis.
Tensor micro_batch(const Tensor& batch, int64_t number, int64_t count);

class Prefetch {
 public:
  // Starts with batch `index` of `epoch`; at most `ahead` batches wait. REQUIRES: an epoch has a
  // batch; the batches outlive this.
  Prefetch(const Batches& batches, uint64_t epoch, size_t index, int threads, size_t ahead);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Blocks until the next batch in order is ready. One caller at a time.
  Result<Batch> next();

 private:
  void work();

  const Batches& batches_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t begun_, taken_;  // batches since the first of epoch 0
  bool stop_ = false;
  std::map<uint64_t, Result<Batch>> made_;
  std::vector<std::thread> threads_;
};

}  // namespace shoal
