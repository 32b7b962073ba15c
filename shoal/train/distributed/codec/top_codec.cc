// The largest elements only, with momentum correction (Deep Gradient Compression, Lin et al. 2018):
//
//   u = momentum * u + g;  v = v + u;  send v where |v| is among the k largest;  u = v = 0 there
//
// Momentum is the sender's because it must also act on what waits in v; the optimiser behind the
// decoder has none. v is the error that is carried along.
//
// The k-th largest is found among few: a threshold that somewhat more than k elements reach is
// estimated from a sample, and only those are compared. Where fewer than k reach it, all are.
//
// Bytes: k indices u32, ascending, then k elements f32.
#include <algorithm>
#include <cmath>
#include <functional>

#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

constexpr size_t kSample = 2048;

class TopCodec : public TensorCodec {
 public:
  TopCodec(const Shape& shape, double density, float momentum)
      : count_(static_cast<size_t>(shape.count())),
        kept_(std::clamp<size_t>(
            static_cast<size_t>(std::ceil(density * static_cast<double>(count_))), 1, count_)),
        momentum_(momentum),
        velocity_({DType::kF32, shape}),
        indices_(count_ + 64) {}
  size_t bytes() const override { return kept_ * (sizeof(uint32_t) + sizeof(float)); }
  bool has_error() const override { return true; }
  std::vector<std::pair<std::string, Tensor>> memories() const override {
    return {{"velocity", velocity_}};
  }

  void encode(std::span<const float> gradient, std::span<float> error, Workspace&,
              std::span<std::byte> to) override {
    const std::span<float> u = velocity_.data<float>();
    accumulate(gradient, momentum_, u, error);
    const std::span<uint32_t> largest = find_largest(error);
    ByteWriter writer(to);
    std::memcpy(writer.take(largest.size_bytes()), largest.data(), largest.size_bytes());
    for (const uint32_t i : largest) {
      writer.put(error[i]);
      error[i] = u[i] = 0;
    }
  }

  Status decode(std::span<const std::byte> from, Workspace&, std::span<float> to) override {
    ByteReader reader(from);
    const size_t bytes = kept_ * sizeof(uint32_t);
    std::memcpy(indices_.data(), reader.take(bytes), bytes);
    std::ranges::fill(to, 0.0f);
    for (size_t k = 0; k < kept_; ++k) {
      const float x = reader.get();
      const bool ascends = k == 0 || indices_[k] > indices_[k - 1];
      if (!ascends || indices_[k] >= count_ || !(std::abs(x) <= kLargestDecoded)) {
        return corrupt_gradient();
      }
      to[indices_[k]] = x;
    }
    return {};
  }

 private:
  std::span<uint32_t> find_largest(std::span<const float> v) {
    size_t found = collect(v, estimate_threshold(v), indices_.data());
    if (found < kept_) found = collect(v, 0, indices_.data());
    sizes_.resize(found);
    for (size_t i = 0; i < found; ++i) sizes_[i] = std::abs(v[indices_[i]]);
    const auto nth = sizes_.begin() + static_cast<int64_t>(kept_) - 1;
    std::nth_element(sizes_.begin(), nth, sizes_.end(), std::greater<>());
    const float least = *nth;
    // Of those that are as large as the least, the first: the choice is the same everywhere.
    auto ties = kept_ - static_cast<size_t>(
                            std::count_if(sizes_.begin(), nth, [&](float x) { return x > least; }));
    size_t kept = 0;
    for (size_t i = 0; i < found; ++i) {
      const float size = std::abs(v[indices_[i]]);
      if (size < least || (size == least && ties == 0)) continue;
      ties -= size == least;
      indices_[kept++] = indices_[i];
    }
    return std::span(indices_).first(kept_);
  }

  float estimate_threshold(std::span<const float> v) {
    if (count_ < 2 * kSample) return 0;
    const size_t apart = count_ / kSample;
    sizes_.resize(kSample);
    for (size_t i = 0; i < kSample; ++i) sizes_[i] = std::abs(v[i * apart]);
    // More than are wanted, for chance.
    const size_t rank = std::min(kSample - 1, kept_ / apart * 5 / 4 + 8);
    const auto nth = sizes_.begin() + static_cast<int64_t>(rank);
    std::nth_element(sizes_.begin(), nth, sizes_.end(), std::greater<>());
    return *nth;
  }

  size_t count_, kept_;
  float momentum_;
  Tensor velocity_;
  std::vector<uint32_t> indices_;
  std::vector<float> sizes_;  // of some elements
};

}  // namespace

std::unique_ptr<TensorCodec> make_top_codec(const Shape& shape, double density, float momentum) {
  return std::make_unique<TopCodec>(shape, density, momentum);
}

}  // namespace shoal::learn
