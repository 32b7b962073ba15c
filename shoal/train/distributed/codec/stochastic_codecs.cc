// Codecs that round at random, so that the mean of what is decoded is the gradient, per group:
//
//   level = floor(|g| / unit + u), u uniform in [0, 1);   decoded = sign(g) * level * unit
//
// TernGrad [Wen 2017]: unit = max |g|, levels 0 and 1. QSGD: unit = |g|_2 / s, levels 0 to s.
// TernGrad's source has a unit per layer; one per group costs 4 bytes each, and a large element
// then rounds only its own group to zeros.
//
// Bytes: the unit of each group, then a plane of bits for each bit of the levels, then the signs.
#include <bit>
#include <cmath>

#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

enum class Norm : uint8_t { kMax, kEuclidean };

class StochasticCodec : public TensorCodec {
 public:
  StochasticCodec(Groups groups, uint32_t levels, Norm norm)
      : groups_(groups),
        levels_(levels),
        planes_(static_cast<int>(std::bit_width(levels)) + 1),
        norm_(norm) {}
  size_t bytes() const override {
    return groups_.count * sizeof(float) + static_cast<size_t>(planes_) * plane_bytes();
  }

  void encode(std::span<const float> gradient, std::span<float>, Workspace& workspace,
              std::span<std::byte> to) override {
    ByteWriter writer(to);
    workspace.codes.resize(count());
    const auto key = static_cast<uint32_t>(workspace.random[0]);
    for (size_t g = 0; g < groups_.count; ++g) {
      const size_t first = g * groups_.size;
      const std::span<const float> x = gradient.subspan(first, groups_.size);
      const float unit = unit_of(x);
      writer.put(unit);
      const Rounding rounding{.factor = unit > 0 ? 1 / unit : 0,
                              .levels = levels_,
                              .key = key,
                              .first = static_cast<uint32_t>(first)};
      round_randomly(x, rounding, workspace.codes.data() + first);
    }
    for (int plane = 0; plane < planes_; ++plane) {
      pack_bits(workspace.codes, plane, reinterpret_cast<uint8_t*>(writer.take(plane_bytes())));
    }
  }

  Status decode(std::span<const std::byte> from, Workspace& workspace,
                std::span<float> to) override {
    ByteReader units(from);
    ByteReader planes(from.subspan(groups_.count * sizeof(float)));
    workspace.codes.resize(count());
    for (int plane = 0; plane < planes_; ++plane) {
      unpack_bits(reinterpret_cast<const uint8_t*>(planes.take(plane_bytes())), plane,
                  workspace.codes);
    }
    for (size_t g = 0; g < groups_.count; ++g) {
      const float unit = units.get();
      if (!(unit >= 0 && unit <= kLargestDecoded)) return corrupt_gradient();
      from_levels(workspace.codes.data() + g * groups_.size, unit, levels_,
                  to.subspan(g * groups_.size, groups_.size));
    }
    return {};
  }

 private:
  size_t count() const { return groups_.count * groups_.size; }
  size_t plane_bytes() const { return (count() + 7) / 8; }
  // Zero where its inverse would be infinite: such elements are as good as zero.
  float unit_of(std::span<const float> x) const {
    const float unit =
        norm_ == Norm::kMax ? max_abs(x) : std::sqrt(dot(x, x)) / static_cast<float>(levels_);
    return unit < 1e-37f ? 0 : unit;
  }

  Groups groups_;
  uint32_t levels_;
  int planes_;
  Norm norm_;
};

}  // namespace

std::unique_ptr<TensorCodec> make_terngrad_codec(const Shape& shape) {
  return std::make_unique<StochasticCodec>(groups_of(shape), 1, Norm::kMax);
}
std::unique_ptr<TensorCodec> make_qsgd_codec(const Shape& shape, int bits) {
  return std::make_unique<StochasticCodec>(groups_of(shape), (1u << (bits - 1)) - 1,
                                           Norm::kEuclidean);
}

}  // namespace shoal::learn
