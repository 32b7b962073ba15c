// One bit per element with error feedback [Mao 2017b], per group:
//
//   v = g + e;  bit = v >= 0;  p, n = means of v where the bit is 1, 0
//   decoded = bit ? p : n;     e = v - decoded
//
// The dissertation prints e = g - decoded, without the carried term, which loses what was not sent
// after one step, and much of the accuracy. With it, the sum of decoded vectors and e is the sum of
// all gradients.
//
// Bytes: p and n of each group, then one bit per element of the tensor.
#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

class SignCodec : public TensorCodec {
 public:
  explicit SignCodec(Groups groups) : groups_(groups) {}
  size_t bytes() const override { return groups_.count * 2 * sizeof(float) + (count() + 7) / 8; }
  bool has_error() const override { return true; }

  void encode(std::span<const float> gradient, std::span<float> error, Workspace& workspace,
              std::span<std::byte> to) override {
    ByteWriter writer(to);
    workspace.codes.resize(count());
    for (size_t g = 0; g < groups_.count; ++g) {
      const std::span<float> v = error.subspan(g * groups_.size, groups_.size);
      uint8_t* const codes = workspace.codes.data() + g * groups_.size;
      const Sides sides = add_and_split(gradient.subspan(g * groups_.size, groups_.size), v, codes);
      const float positive = mean(sides.positive, sides.positives);
      const float negative = mean(sides.negative, groups_.size - sides.positives);
      subtract_level(v, codes, negative, positive);
      writer.put(positive);
      writer.put(negative);
    }
    pack_bits(workspace.codes, 0, reinterpret_cast<uint8_t*>(writer.take((count() + 7) / 8)));
  }

  Status decode(std::span<const std::byte> from, Workspace& workspace,
                std::span<float> to) override {
    ByteReader reader(from);
    ByteReader bits(from.subspan(groups_.count * 2 * sizeof(float)));
    workspace.codes.resize(count());
    unpack_bits(reinterpret_cast<const uint8_t*>(bits.take((count() + 7) / 8)), 0, workspace.codes);
    for (size_t g = 0; g < groups_.count; ++g) {
      const float positive = reader.get(), negative = reader.get();
      const bool is_valid = positive >= 0 && positive <= kLargestDecoded && negative <= 0 &&
                            negative >= -kLargestDecoded;
      if (!is_valid) return corrupt_gradient();
      choose_level(workspace.codes.data() + g * groups_.size, negative, positive,
                   to.subspan(g * groups_.size, groups_.size));
    }
    return {};
  }

 private:
  size_t count() const { return groups_.count * groups_.size; }
  static float mean(float sum, size_t count) {
    return count == 0 ? 0 : sum / static_cast<float>(count);
  }

  Groups groups_;
};

}  // namespace

std::unique_ptr<TensorCodec> make_sign_codec(const Shape& shape) {
  return std::make_unique<SignCodec>(groups_of(shape));
}

}  // namespace shoal::learn
