// Batches by number. Order and augmentation draw from streams named by seed, purpose, epoch and
// example, so a batch can be computed on any thread in any order. The only shared state is a cache
// of the epoch's order and the list of skipped examples.
#include "shoal/train/data/batches.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "shoal/engine/inputs/image.h"

namespace shoal {
namespace {

// Augmentation. Crop keeps the aspect ratio: one scale s, uniform in [crop, 1), and a window
// uniform among those that fit. Shift is uniform in [-shift, shift] per axis. A flip has
// probability 1/2. Noise is normal, per element, and clamped.
//
// Images stay u8 between the steps, as photographs are.

// One stream for each thing that is drawn, so that a flip is the same with and without noise.
enum AugmentDraw : uint64_t { kCrop, kShift, kFlip, kNoise };

// Uniform in [0, 1).
double share(const RandomStream& random, uint64_t i) {
  // 53 random bits, all that the mantissa of a double has.
  return static_cast<double>(random[i] >> 11) * 0x1p-53;
}

Tensor cropped(const Tensor& image, double least, RandomStream random) {
  const int64_t h = image.shape()[0], w = image.shape()[1];
  const double scale = least + (1 - least) * share(random, 0);
  const auto side = [&](int64_t whole) {
    return std::clamp<int64_t>(std::llround(static_cast<double>(whole) * scale), 1, whole);
  };
  const int64_t rows = side(h), columns = side(w);
  const auto top = static_cast<int64_t>(random.below(static_cast<uint64_t>(h - rows + 1), 1));
  const auto left = static_cast<int64_t>(random.below(static_cast<uint64_t>(w - columns + 1), 2));
  const Region window{{top, left, 0}, {top + rows, left + columns, image.shape()[2]}};
  return resize_image(crop(image, window), h, w);
}

Tensor shifted(const Tensor& image, int64_t most, RandomStream random) {
  const auto draw = [&](uint64_t i) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(2 * most + 1), i)) - most;
  };
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  // A shift beyond the image leaves black, like one of its full size.
  const int64_t down = std::clamp(draw(0), -h, h), right = std::clamp(draw(1), -w, w);
  const Region from{{std::max<int64_t>(-down, 0), std::max<int64_t>(-right, 0), 0},
                    {std::min(h - down, h), std::min(w - right, w), c}};
  Tensor result(image.type());
  if (from.shape().count() == 0) return result;
  const int64_t top = from.begin[0] + down, left = from.begin[1] + right;
  paste(crop(image, from), {{top, left, 0}, {from.end[0] + down, from.end[1] + right, c}}, result);
  return result;
}

Tensor flipped(const Tensor& image) {
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  Tensor result(image.type());
  const uint8_t* from = image.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      std::copy_n(from + (y * w + w - 1 - x) * c, c, to + (y * w + x) * c);
    }
  }
  return result;
}

// Noise rounds to nearest: truncation would darken the image by half a level.
Tensor noisy(const Tensor& image, double deviation, RandomStream random) {
  Tensor result(image.type());
  const auto from = image.data<uint8_t>();
  std::vector<float> noise(from.size());
  fill_normal(noise, random, deviation * 255);
  for (size_t i = 0; i < from.size(); ++i) {
    const float sum = std::nearbyint(static_cast<float>(from[i]) + noise[i]);
    result.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(sum, 0.0f, 255.0f));
  }
  return result;
}

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

// Workers take numbers in order under the lock and make batches without it; `made_` puts them back
// in order. At most `ahead` batches are begun and not taken, which bounds memory.

// Tensors throw std::bad_alloc, and what leaves a thread ends the process.
Result<Batch> make(const Batches& batches, uint64_t epoch, size_t index) try {
  return batches.at(epoch, index);
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

}  // namespace

Tensor augment(const Tensor& image, const Augment& options, RandomStream random) {
  Tensor result = image;
  if (options.crop < 1) result = cropped(result, options.crop, random.child(kCrop));
  if (options.shift > 0) result = shifted(result, options.shift, random.child(kShift));
  if (options.flip && random.child(kFlip).below(2, 0) == 1) result = flipped(result);
  if (options.noise > 0) result = noisy(result, options.noise, random.child(kNoise));
  return result;
}

// Fisher-Yates; step i draws number i of the stream.
std::vector<size_t> shuffled(size_t count, RandomStream random) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i-- > 1;) std::swap(order[i], order[random.below(i + 1, i)]);
  return order;
}

Tensor micro_batch(const Tensor& batch, int64_t number, int64_t count) {
  Region region = Region::whole(batch.shape());
  const int64_t size = batch.shape()[0] / count;
  region.begin[0] = number * size;
  region.end[0] = (number + 1) * size;
  return crop(batch, region);
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

Prefetch::Prefetch(const Batches& batches, uint64_t epoch, size_t index, int threads, size_t ahead)
    : batches_(batches),
      ahead_(ahead),
      begun_(epoch * batches.per_epoch() + index),
      taken_(begun_) {
  SHOAL_CHECK(batches.per_epoch() > 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// A failed batch is a result like any other: next() returns it in its turn.
void Prefetch::work() {
  const size_t per_epoch = batches_.per_epoch();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || begun_ < taken_ + ahead_; });
    if (stop_) return;
    const uint64_t number = begun_++;
    lock.unlock();
    Result<Batch> batch = make(batches_, number / per_epoch, number % per_epoch);
    lock.lock();
    made_.emplace(number, std::move(batch));
    changed_.notify_all();
  }
}

// One caller at a time, as the order of batches is that of the calls.
Result<Batch> Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return made_.contains(taken_); });
  Result<Batch> batch = std::move(made_.extract(taken_).mapped());
  ++taken_;
  changed_.notify_all();
  return batch;
}

}  // namespace shoal
