// One bit per element without memory (DRIVE: Vargaftik et al. 2021), for senders that report too
// rarely for error feedback. Per block of d elements, a power of two:
//
//   y = H D x;   bits = sign(y);   decoded = (|x|_2^2 / |y|_1) D H bits
//
// D has random signs and H is a Hadamard matrix, so y is x in a random basis, with elements of
// about equal size. Then the product of x and the decoded vector is |x|^2, and its mean over D is
// nearly x: messages of several senders average out their errors, about (pi/2 - 1) |x|^2. Few
// elements, or one much larger than the rest, mix badly.
//
// In large blocks H mixes elements at multiples of kApart places, which vectors of every width do
// at once. Blocks are the largest powers of two that fit; the rest is filled up with zeros.
//
// Bytes: the seed of D, the factor of each block, then one bit per element, in words of 64 as a
// little-endian machine has them.
#include <algorithm>
#include <array>
#include <bit>

#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

constexpr size_t kLeast = 64, kMost = 4096, kApart = 16;
constexpr float kLargestFactor = kLargestDecoded / kMost;

class DriveCodec : public TensorCodec {
 public:
  explicit DriveCodec(size_t count) : count_(count), mixed_(kMost) {
    for (size_t first = 0; first < count; first += blocks_.back()) {
      blocks_.push_back(std::clamp(std::bit_floor(count - first), kLeast, kMost));
      bits_ += blocks_.back();
    }
  }
  size_t bytes() const override {
    return sizeof(uint32_t) + blocks_.size() * sizeof(float) + bits_ / 8;
  }

  void encode(std::span<const float> gradient, std::span<float>, Workspace& workspace,
              std::span<std::byte> to) override {
    ByteWriter writer(to);
    const auto seed = static_cast<uint32_t>(workspace.random[0]);
    std::memcpy(writer.take(sizeof(seed)), &seed, sizeof(seed));
    std::byte* bits = to.last(bits_ / 8).data();
    size_t first = 0;
    for (const size_t size : blocks_) {
      const auto x = gradient.subspan(first, std::min(size, count_ - first));
      const std::span<float> y = std::span(mixed_).first(size);
      draw_signs(seed, first, size);
      if (x.size() == size) {
        turn(x, words_.data(), 1, y);
      } else {
        std::ranges::fill(std::ranges::copy(x, y.begin()).out, y.end(), 0.0f);
        turn(y, words_.data(), 1, y);
      }
      mix(y);
      const float length = to_signs(y, words_.data());
      writer.put(length > 0 ? dot(x, x) / length : 0);
      std::memcpy(bits, words_.data(), size / 8);
      bits += size / 8;
      first += size;
    }
  }

  Status decode(std::span<const std::byte> from, Workspace&, std::span<float> to) override {
    ByteReader reader(from);
    uint32_t seed = 0;
    std::memcpy(&seed, reader.take(sizeof(seed)), sizeof(seed));
    const std::byte* bits = from.last(bits_ / 8).data();
    size_t first = 0;
    for (const size_t size : blocks_) {
      const float factor = reader.get();
      if (!(factor >= 0 && factor <= kLargestFactor)) return corrupt_gradient();
      const std::span<float> y = std::span(mixed_).first(size);
      std::memcpy(words_.data(), bits, size / 8);
      from_signs(words_.data(), y);
      mix(y);
      draw_signs(seed, first, size);
      const auto x = to.subspan(first, std::min(size, count_ - first));
      if (x.size() == size) {
        turn(y, words_.data(), factor, x);
      } else {
        turn(y, words_.data(), factor, y);
        std::ranges::copy(y.first(x.size()), x.begin());
      }
      bits += size / 8;
      first += size;
    }
    return {};
  }

 private:
  static void mix(std::span<float> y) { hadamard(y, y.size() == kMost ? kApart : 1); }

  // D of the block that begins at `first`, as bits.
  void draw_signs(uint32_t seed, size_t first, size_t count) {
    const RandomStream random(seed, first);
    for (size_t i = 0; i < count / 64; ++i) words_[i] = random[i];
  }

  size_t count_, bits_ = 0;
  std::vector<size_t> blocks_;  // their sizes
  std::vector<float> mixed_;
  std::array<uint64_t, kMost / 64> words_ = {};  // the signs of a block
};

}  // namespace

std::unique_ptr<TensorCodec> make_drive_codec(const Shape& shape) {
  const auto count = static_cast<size_t>(shape.count());
  if (count < kLeast) return make_f32_codec(shape);
  return std::make_unique<DriveCodec>(count);
}

}  // namespace shoal::learn
