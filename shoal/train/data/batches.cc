// Batches by number. Order and augmentation draw from streams that are named by seed, purpose,
// epoch and example. So a batch is computed from its number alone, on any thread and in any order,
// and the only shared state is a cache of the epoch's order and the list of skipped examples.
#include "shoal/train/data/batches.h"

#include <algorithm>
#include <numeric>

#include "shoal/train/data/augment_image.h"

namespace shoal {
namespace {

enum Draw : uint64_t { kOrder, kAugment };

// The failures of a damaged data set, as opposed to those of a wrong command.
bool is_damage(Code code) {
  return code == Code::kCorrupt || code == Code::kNotFound || code == Code::kUnsupported;
}

// Puts an image among the others of its batch, and makes the batch if it is the first.
Status put(const Tensor& image, size_t index, size_t batch, Tensor& all) {
  Shape shape = image.shape();
  shape[0] = static_cast<int64_t>(batch);
  if (!all.defined()) all = Tensor({image.dtype(), shape});
  if (all.shape() != shape) {
    return invalid("image is " + to_string(image.shape()) + ", others are of " +
                   to_string(all.shape()) + "; resize and crop, or stretch them");
  }
  const auto bytes = image.bytes();
  std::ranges::copy(bytes, all.bytes().begin() + static_cast<ptrdiff_t>(index * bytes.size()));
  return {};
}

}  // namespace

// Fisher-Yates; step i draws number i of the stream.
std::vector<size_t> shuffled(size_t count, RandomStream random) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i-- > 1;) std::swap(order[i], order[random.below(i + 1, i)]);
  return order;
}

size_t Batches::per_epoch() const {
  // Training leaves out the rest of an epoch, which has other examples in the next. Evaluation
  // counts every example and fills up the last batch.
  const size_t rest = options_.shuffle ? 0 : options_.batch - 1;
  return (data_.size() + rest) / options_.batch;
}

std::shared_ptr<const Batches::Order> Batches::order_of(uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr || last_->epoch != epoch) {
    auto order = std::make_shared<Order>(Order{epoch, {}});
    if (options_.shuffle) {
      order->examples = shuffled(data_.size(), RandomStream(options_.seed, kOrder).child(epoch));
    } else {
      order->examples.resize(data_.size());
      std::iota(order->examples.begin(), order->examples.end(), size_t{0});
    }
    last_ = std::move(order);
  }
  return last_;
}

Result<Example> Batches::read(uint64_t epoch, size_t index) const {
  SHOAL_ASSIGN(Example example, data_.at(index));
  const bool is_class = example.label >= 0 && example.label < options_.classes;
  if (options_.classes > 0 && !is_class) {
    return Status(Code::kCorrupt, data_.place(index) + ": label " + std::to_string(example.label) +
                                      ", the network has classes 0 to " +
                                      std::to_string(options_.classes - 1));
  }
  // The stream of an example depends on its index, not on its place: the order does not change the
  // augmentation.
  const RandomStream random = RandomStream(options_.seed, kAugment).child(epoch).child(index);
  auto prepared = prepare_(augment(example.image, options_.augment, random));
  if (!prepared.ok()) return prepared.status().at(data_.place(index));
  return Example{*std::move(prepared), example.label};
}

// The example at this place of the epoch, or the first after it that can be read.
Result<Example> Batches::read_or_next(const Order& order, size_t place, size_t& index) const {
  for (size_t tries = 0; tries < data_.size(); ++tries) {
    index = order.examples[(place + tries) % data_.size()];
    auto example = read(order.epoch, index);
    if (example.ok() || options_.damaged == Damaged::kRefuse ||
        !is_damage(example.status().code())) {
      return example;
    }
    // The loop is bounded by the data set: damage of all of it is an error, not an endless search.
    const std::lock_guard lock(mutex_);
    skipped_.insert(std::string(example.status().message()));
  }
  return Status(Code::kCorrupt, "no example can be read");
}

Result<Batch> Batches::at(uint64_t epoch, size_t index) const {
  std::shared_ptr<const Order> order;
  size_t first = index * options_.batch, count = options_.batch;  // places in the order
  if (options_.choose) {
    const uint64_t step = epoch * per_epoch() + index;
    order = std::make_shared<Order>(Order{epoch, options_.choose(step)});
    first = 0;
    count = order->examples.size();
  } else {
    order = order_of(epoch);
  }
  Batch batch{.images = {},
              .labels = Tensor({DType::kI64, {static_cast<int64_t>(count)}}),
              .examples = std::vector<size_t>(count),
              .fresh = std::min(count, data_.size() - first)};
  for (size_t i = 0; i < count; ++i) {
    SHOAL_ASSIGN(const Example example, read_or_next(*order, first + i, batch.examples[i]));
    batch.labels.data<int64_t>()[i] = example.label;
    const Status fits = put(example.image, i, count, batch.images);
    if (!fits.ok()) return fits.at(data_.place(batch.examples[i]));
  }
  return batch;
}

std::vector<std::string> Batches::skipped() const {
  const std::lock_guard lock(mutex_);
  return {skipped_.begin(), skipped_.end()};
}

}  // namespace shoal
