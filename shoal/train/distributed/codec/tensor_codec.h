// TensorCodec: encodes the gradient of one weight. GradientCodec has one per weight.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::learn {

enum class CodecKind : uint8_t {
  kF32,
  kF16,
  kInt8,
  kOneBit,
  kTern,
  kQsgd,
  kPowerSgd,
  kTopK,
  kDrive
};

// "f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive"; nullopt for any other
// name.
std::string_view name_of(CodecKind kind);
std::optional<CodecKind> find_codec(std::string_view name);
std::span<const CodecKind> all_codecs();

struct CodecOptions {
  CodecKind kind = CodecKind::kF32;
  // Error feedback: adds what was lost to the next gradient (1bit, powersgd, topk). Turn it off for
  // comparisons only.
  bool feedback = true;
  int qsgd_bits = 4;      // bits per element with sign: 2 to 7
  int64_t rank = 2;       // powersgd
  double density = 0.01;  // topk: share of elements sent
  float momentum = 0.9f;  // topk: of the sender; the optimizer then uses none
  uint64_t seed = 1;      // for stochastic rounding, powersgd's first basis and drive's signs
};

// Largest gradient element: sums of squares stay finite in f32.
inline constexpr float kLargestGradient = 1e12f;
// Largest decoded element: a carried error may exceed a gradient.
inline constexpr float kLargestDecoded = 1e30f;

// Groups of elements with a scale each: one per filter or row (first axis); a vector is one group.
struct Groups {
  size_t count = 1, size = 0;  // their number, and the elements of each
};
Groups groups_of(const Shape& shape);

// Randomness and scratch memory of one encoding.
struct Workspace {
  RandomStream random{0, 0};
  std::vector<uint8_t> codes = {};  // a byte per element
};

// The encoded size depends on the shape alone. Not thread-safe.
class TensorCodec {
 public:
  virtual ~TensorCodec() = default;
  virtual size_t bytes() const = 0;
  // Whether encode() carries an error.
  virtual bool has_error() const { return false; }
  // Encodes the gradient, plus the error if it has one, and stores the new error. REQUIRES:
  // elements of the gradient are within kLargestGradient; `to` has bytes().
  virtual void encode(std::span<const float> gradient, std::span<float> error, Workspace& workspace,
                      std::span<std::byte> to) = 0;
  // kCorrupt for bytes that no encoder writes. Decoded values are finite, and the same on every
  // processor. REQUIRES: `from` has bytes().
  virtual Status decode(std::span<const std::byte> from, Workspace& workspace,
                        std::span<float> to) = 0;
  // Other tensors kept between steps, by role. They share memory with the codec.
  virtual std::vector<std::pair<std::string, Tensor>> memories() const { return {}; }
};

// The codec for the `number`th weight of the network.
std::unique_ptr<TensorCodec> make_tensor_codec(const CodecOptions& options, const Shape& shape,
                                               uint64_t number);

// One factory per codec, in the file of its name.
std::unique_ptr<TensorCodec> make_f32_codec(const Shape& shape);
std::unique_ptr<TensorCodec> make_f16_codec(const Shape& shape);
std::unique_ptr<TensorCodec> make_int8_codec(const Shape& shape);
std::unique_ptr<TensorCodec> make_sign_codec(const Shape& shape);
std::unique_ptr<TensorCodec> make_terngrad_codec(const Shape& shape);
std::unique_ptr<TensorCodec> make_qsgd_codec(const Shape& shape, int bits);
std::unique_ptr<TensorCodec> make_power_codec(const Shape& shape, size_t rank, RandomStream random);
std::unique_ptr<TensorCodec> make_drive_codec(const Shape& shape);
std::unique_ptr<TensorCodec> make_top_codec(const Shape& shape, double density, float momentum);

Status corrupt_gradient();

// Scalars in unaligned bytes.
class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> to) : to_(to) {}
  std::byte* take(size_t bytes) {
    SHOAL_CHECK(bytes <= to_.size());
    std::byte* const at = to_.data();
    to_ = to_.subspan(bytes);
    return at;
  }
  void put(float x) { std::memcpy(take(sizeof(x)), &x, sizeof(x)); }

 private:
  std::span<std::byte> to_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> from) : from_(from) {}
  const std::byte* take(size_t bytes) {
    SHOAL_CHECK(bytes <= from_.size());
    const std::byte* const at = from_.data();
    from_ = from_.subspan(bytes);
    return at;
  }
  float get() {
    float x;
    std::memcpy(&x, take(sizeof(x)), sizeof(x));
    return x;
  }

 private:
  std::span<const std::byte> from_;
};

}  // namespace shoal::learn
