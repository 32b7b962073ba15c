// Codecs without a state: f32 as it is, f16, and int8 with one scale per group, the largest element
// divided by 127. Both round to nearest; int8 is off by at most half its scale.
#include <algorithm>

#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

size_t count_of(const Shape& shape) { return static_cast<size_t>(shape.count()); }

class F32Codec : public TensorCodec {
 public:
  explicit F32Codec(size_t count) : count_(count) {}
  size_t bytes() const override { return count_ * sizeof(float); }
  void encode(std::span<const float> gradient, std::span<float>, Workspace&,
              std::span<std::byte> to) override {
    std::ranges::copy(std::as_bytes(gradient), to.begin());
  }
  Status decode(std::span<const std::byte> from, Workspace&, std::span<float> to) override {
    std::ranges::copy(from, std::as_writable_bytes(to).begin());
    return is_within(to, kLargestDecoded) ? Status() : corrupt_gradient();
  }

 private:
  size_t count_;
};

class F16Codec : public TensorCodec {
 public:
  explicit F16Codec(size_t count) : halves_(count) {}
  size_t bytes() const override { return halves_.size() * sizeof(uint16_t); }
  void encode(std::span<const float> gradient, std::span<float>, Workspace&,
              std::span<std::byte> to) override {
    to_f16(gradient, halves_.data());
    std::ranges::copy(std::as_bytes(std::span(halves_)), to.begin());
  }
  Status decode(std::span<const std::byte> from, Workspace&, std::span<float> to) override {
    std::ranges::copy(from, std::as_writable_bytes(std::span(halves_)).begin());
    from_f16(halves_.data(), to);
    return is_within(to, kLargestDecoded) ? Status() : corrupt_gradient();
  }

 private:
  std::vector<uint16_t> halves_;  // the bytes of a message are not aligned
};

class Int8Codec : public TensorCodec {
 public:
  explicit Int8Codec(Groups groups) : groups_(groups) {}
  size_t bytes() const override { return groups_.count * (sizeof(float) + groups_.size); }
  void encode(std::span<const float> gradient, std::span<float>, Workspace&,
              std::span<std::byte> to) override {
    ByteWriter writer(to);
    for (size_t g = 0; g < groups_.count; ++g) {
      const std::span<const float> x = gradient.subspan(g * groups_.size, groups_.size);
      const float scale = max_abs(x) / 127;
      // Below that the factor is infinite, and the elements are as good as zero.
      const bool is_tiny = scale < 1e-37f;
      writer.put(is_tiny ? 0 : scale);
      to_i8(x, is_tiny ? 0 : 1 / scale, reinterpret_cast<int8_t*>(writer.take(groups_.size)));
    }
  }
  Status decode(std::span<const std::byte> from, Workspace&, std::span<float> to) override {
    ByteReader reader(from);
    for (size_t g = 0; g < groups_.count; ++g) {
      const float scale = reader.get();
      if (!(scale >= 0 && scale <= kLargestGradient)) return corrupt_gradient();
      from_i8(reinterpret_cast<const int8_t*>(reader.take(groups_.size)), scale,
              to.subspan(g * groups_.size, groups_.size));
    }
    return {};
  }

 private:
  Groups groups_;
};

}  // namespace

std::unique_ptr<TensorCodec> make_f32_codec(const Shape& shape) {
  return std::make_unique<F32Codec>(count_of(shape));
}
std::unique_ptr<TensorCodec> make_f16_codec(const Shape& shape) {
  return std::make_unique<F16Codec>(count_of(shape));
}
std::unique_ptr<TensorCodec> make_int8_codec(const Shape& shape) {
  return std::make_unique<Int8Codec>(groups_of(shape));
}

}  // namespace shoal::learn
