#include "shoal/model/ops/elementwise/cast.h"

#include <gtest/gtest.h>

#include <bit>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// Every upper half there is, NaN and infinities among them, and lower halves around the middle.
Tensor floats_of_all_kinds() {
  constexpr uint32_t kLower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  Tensor x({DType::kF32, {std::ssize(kLower) * 0x10000 + 5}});  // past the end of vectors
  uint32_t bits = 0;
  size_t i = 0;
  for (float& element : x.data<float>()) {
    element = std::bit_cast<float>((bits & 0xffff0000u) | kLower[i++ % std::size(kLower)]);
    if (i % std::size(kLower) == 0) bits += 0x10000u;
  }
  return x;
}

TEST(Cast, AgreesBitByBit) {
  const Tensor x = floats_of_all_kinds();
  const int64_t bf16 = ops::onnx_number_of(DType::kBF16);
  expect_agreement(ops::cast, {x}, {{"to", bf16}}, "vector");
  expect_agreement(ops::cast, {x}, {{"to", bf16}, {ops::kRoundMode, std::string(ops::kNearest)}},
                   "vector");
}

// Wide again as bits, which agreement of floats would not compare: those that are no numbers.
TEST(Cast, WidensEveryBFloat16) {
  Tensor x({DType::kBF16, {0x10000}});
  for (size_t i = 0; i < 0x10000; ++i) {
    x.data<BFloat16>()[i] =
        BFloat16::truncated(std::bit_cast<float>(static_cast<uint32_t>(i) << 16));
  }
  Graph graph;
  const ValueId wide = *graph.add(ops::cast, {graph.add_input("x", x.type())},
                                  {{"to", ops::onnx_number_of(DType::kF32)}});
  graph.mark_output(*graph.add(ops::cast, {wide}, {{"to", ops::onnx_number_of(DType::kBF16)}}));
  expect_agreement_of(graph, {x}, "vector");
}

}  // namespace
}  // namespace shoal::cpu
