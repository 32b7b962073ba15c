#include "shoal/model/ops/narrow_type.h"

#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kE4M3FN = 17, kE4M3FNUZ = 18, kE5M2 = 19, kInt4 = 22, kE2M1 = 23, kE8M0 = 24;

std::vector<float> rounded(int64_t number, std::vector<float> x, Rounding rounding = {}) {
  const NarrowType& type = *find_narrow_type(number);
  const auto n = static_cast<int64_t>(x.size());
  Tensor y({type.held, {n}});
  round_to(type, rounding, Tensor::of<float>({n}, x), y);
  std::vector<float> values;
  visit<Types<Half, float, int8_t, uint8_t>>(type.held, [&]<class T>() {
    for (T element : y.data<T>()) values.push_back(static_cast<float>(element));
  });
  return values;
}

TEST(NarrowType, EveryValueOfEveryTypeRoundsToItself) {
  for (int64_t number = 17; number <= 26; ++number) {
    const NarrowType& type = *find_narrow_type(number);
    const int codes = 1 << type.bits, in_byte = 8 / static_cast<int>(type.bits);
    std::vector<std::byte> packed;
    for (int code = 0; code < codes; code += in_byte) {
      int byte = 0;
      for (int i = 0; i < in_byte; ++i) byte |= (code + i) << (i * static_cast<int>(type.bits));
      packed.push_back(std::byte(byte));
    }
    ASSERT_EQ(packed_bytes(type, codes), packed.size());
    Tensor x({type.held, {codes}}), y({type.held, {codes}});
    unpack(type, packed, x);
    round_to(type, {.saturate = false}, x, y);
    visit<Types<Half, float, int8_t, uint8_t>>(type.held, [&]<class T>() {
      for (size_t i = 0; i < y.data<T>().size(); ++i) {
        const auto a = static_cast<float>(x.data<T>()[i]), b = static_cast<float>(y.data<T>()[i]);
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << type.name << " code " << i;
      }
    });
  }
}

TEST(NarrowType, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(rounded(kE4M3FN, {1.0625f, 1.1875f, -1.07f}), (std::vector<float>{1, 1.25f, -1.125f}));
  EXPECT_EQ(rounded(kE2M1, {0.25f, 0.75f, 2.5f, 5}), (std::vector<float>{0, 1, 2, 4}));
}

TEST(NarrowType, EndsAtItsLargestNumberOrLeavesTheNumbers) {
  EXPECT_EQ(rounded(kE4M3FN, {464, 465, kInfinity}), (std::vector<float>{448, 448, 448}));
  EXPECT_EQ(rounded(kE4M3FN, {464}, {.saturate = false})[0], 448);  // rounds down to it
  EXPECT_TRUE(std::isnan(rounded(kE4M3FN, {465}, {.saturate = false})[0]));
  EXPECT_EQ(rounded(kE5M2, {-1e6f}, {.saturate = false})[0], -kInfinity);
  EXPECT_EQ(rounded(kE2M1, {kInfinity, kNan}, {.saturate = false}), (std::vector<float>{6, 0}));
}

TEST(NarrowType, HasOneZeroWhereMinusZeroIsNaN) {
  EXPECT_FALSE(std::signbit(rounded(kE4M3FNUZ, {-1e-9f})[0]));
  EXPECT_TRUE(std::signbit(rounded(kE4M3FN, {-1e-9f})[0]));
}

TEST(NarrowType, RoundsToPowersOfTwoAsAsked) {
  const std::vector<float> x = {1, 1.1f, 1.5f, 1.9f};
  EXPECT_EQ(rounded(kE8M0, x), (std::vector<float>{1, 2, 2, 2}));
  EXPECT_EQ(rounded(kE8M0, x, {.power = Rounding::Power::kDown}), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(rounded(kE8M0, x, {.power = Rounding::Power::kClosest}),
            (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(rounded(kE8M0, {0, kInfinity}),
            (std::vector<float>{std::ldexp(1.0f, -127), std::ldexp(1.0f, 127)}));
  EXPECT_TRUE(std::isnan(rounded(kE8M0, {0}, {.saturate = false})[0]));
}

TEST(NarrowType, KeepsTheLowBitsOfIntegers) {
  EXPECT_EQ(rounded(kInt4, {-9, -8, 7, 8, 2.9f}), (std::vector<float>{7, -8, 7, -8, 2}));
}

TEST(NarrowCast, RefusesTypesThatAreNotNarrow) {
  const Tensor x = floats({1}, {1});
  expect_refused(evaluate(narrow_cast, {x}, {{"type", int64_t{1}}}), "not a narrow one");
  expect_refused(evaluate(narrow_cast, {x}), "type");
  expect_refused(
      evaluate(narrow_cast, {x}, {{"type", kE8M0}, {"round_mode", std::string("sideways")}}),
      "round_mode");
}

}  // namespace
}  // namespace shoal::ops
