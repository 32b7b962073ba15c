// One bit per element without memory (DRIVE: Vargaftik et al. 2021), for senders that are asked too
// rarely to carry an error along. Per block of d elements, a power of two:
//
//   y = H D x;   bits = sign(y);   decoded = (|x|_2^2 / |y|_1) D H bits
//
// D has random signs and H is a Hadamard matrix, so that y is x in a random basis, in which all
// elements are about as large. Then the product of x and what is decoded is |x|^2, and the mean of
// what is decoded, over D, is nearly x: messages of several senders average out what each loses,
// which is about (pi/2 - 1) |x|^2. Elements that are few, or one that is much larger than the rest,
// mix badly.
//
// In large blocks H mixes elements that are a multiple of kApart places from each other, which
// vectors of every width do at once. Blocks are the largest powers of two that fit, and the rest
// is filled up with zeros.
//
// Bytes: the seed of D, the factor of each block, then one bit per element.
#include <algorithm>
#include <array>
#include <bit>

#include "shoal/learn/codec/kernels.h"
#include "shoal/learn/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

constexpr size_t kLeast = 64, kMost = 4096, kApart = 16;
constexpr float kLargestFactor = kLargestDecoded / kMost;

class DriveCodec : public TensorCodec {
 public:
  explicit DriveCodec(size_t count)
      : count_(count), signs_(kMost), mixed_(kMost), zeros_(kMost), codes_(kMost) {
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
    workspace.codes.resize(bits_);
    size_t first = 0;
    for (const size_t size : blocks_) {
      const auto x = gradient.subspan(first, std::min(size, count_ - first));
      const std::span<float> y = std::span(mixed_).first(size);
      std::ranges::fill(std::ranges::copy(x, y.begin()).out, y.end(), 0.0f);
      multiply(y, draw_signs(seed, first, size, 1));
      mix(y);
      const Sides sides =
          add_and_split(std::span(zeros_).first(size), y, workspace.codes.data() + first);
      const float length = sides.positive - sides.negative;
      writer.put(length > 0 ? dot(x, x) / length : 0);
      first += size;
    }
    pack_bits(workspace.codes, 0, reinterpret_cast<uint8_t*>(writer.take(bits_ / 8)));
  }

  Status decode(std::span<const std::byte> from, Workspace& workspace,
                std::span<float> to) override {
    ByteReader reader(from);
    uint32_t seed = 0;
    std::memcpy(&seed, reader.take(sizeof(seed)), sizeof(seed));
    workspace.codes.resize(bits_);
    const std::span<const std::byte> bits = from.last(bits_ / 8);
    unpack_bits(reinterpret_cast<const uint8_t*>(bits.data()), 0, workspace.codes);
    size_t first = 0;
    for (const size_t size : blocks_) {
      const float factor = reader.get();
      if (!(factor >= 0 && factor <= kLargestFactor)) return corrupt_gradient();
      const std::span<float> y = std::span(mixed_).first(size);
      choose_level(workspace.codes.data() + first, -1, 1, y);
      mix(y);
      multiply(y, draw_signs(seed, first, size, factor));
      std::ranges::copy(y.first(std::min(size, count_ - first)),
                        to.begin() + static_cast<int64_t>(first));
      first += size;
    }
    return {};
  }

 private:
  static void mix(std::span<float> y) { hadamard(y, y.size() == kMost ? kApart : 1); }

  // +size or -size for each element of the block that begins at `first`.
  std::span<const float> draw_signs(uint32_t seed, size_t first, size_t count, float size) {
    const RandomStream random(seed, first);
    std::array<uint64_t, kMost / 64> words;
    for (size_t i = 0; i < count / 64; ++i) words[i] = random[i];
    const std::span<uint8_t> codes = std::span(codes_).first(count);
    unpack_bits(reinterpret_cast<const uint8_t*>(words.data()), 0, codes);
    const std::span<float> signs = std::span(signs_).first(count);
    choose_level(codes.data(), -size, size, signs);
    return signs;
  }

  size_t count_, bits_ = 0;
  std::vector<size_t> blocks_;  // their sizes
  std::vector<float> signs_, mixed_, zeros_;
  std::vector<uint8_t> codes_;
};

}  // namespace

std::unique_ptr<TensorCodec> make_drive_codec(const Shape& shape) {
  const auto count = static_cast<size_t>(shape.count());
  if (count < kLeast) return make_f32_codec(shape);
  return std::make_unique<DriveCodec>(count);
}

}  // namespace shoal::learn
