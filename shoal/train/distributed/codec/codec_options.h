// Which codec, and its parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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

// "f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive"; nothing for another
// name.
std::string_view name_of(CodecKind kind);
std::optional<CodecKind> find_codec(std::string_view name);
std::span<const CodecKind> all_codecs();

struct CodecOptions {
  CodecKind kind = CodecKind::kF32;
  // What the receiver lacks is added to the next gradient (1bit, powersgd, topk). Without it these
  // learn worse: for comparisons only.
  bool feedback = true;
  int qsgd_bits = 4;      // of an element, the sign included: 2 to 7
  int64_t rank = 2;       // powersgd
  double density = 0.01;  // topk: the share of elements that are sent
  float momentum = 0.9f;  // topk: of the sender; the update behind it then has none
  uint64_t seed = 1;      // of stochastic rounding, powersgd's first basis and drive's signs
};

}  // namespace shoal::learn
