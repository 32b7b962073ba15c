#include "shoal/plan/coding/erasure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "random_plan.h"

namespace shoal::plan {
namespace {

// Every set of at most `most` members that may be lost.
std::vector<std::vector<bool>> loss_patterns(size_t members, int most) {
  std::vector<std::vector<bool>> patterns;
  for (unsigned bits = 0; bits < 1u << members; ++bits) {
    std::vector<bool> here(members);
    int lost = 0;
    for (size_t i = 0; i < members; ++i) lost += (here[i] = (bits >> i & 1) != 0) ? 0 : 1;
    if (lost <= most) patterns.push_back(here);
  }
  return patterns;
}

// Two rows, as the sum of both: (w11 + w21, w12 + w22).
TEST(Parity, IsTheSumOfRows) {
  const std::vector<Tensor> rows = {Tensor::of<float>({1, 2}, {1, 2}),
                                    Tensor::of<float>({1, 2}, {10, 20})};
  const Tensor parity = parity_of(rows, real_coefficients(2, 1)[0], 0);
  EXPECT_TRUE(std::ranges::equal(parity.data<float>(), std::vector<float>{11, 22}));
}

TEST(Parity, CountsWhatIsShorterAsFollowedByZeros) {
  const std::vector<Tensor> rows = {Tensor::of<float>({2, 1}, {1, 2}),
                                    Tensor::of<float>({1, 1}, {10})};
  const Tensor parity = parity_of(rows, std::vector<double>{1, 1}, 0);
  EXPECT_TRUE(std::ranges::equal(parity.data<float>(), std::vector<float>{11, 2}));
}

// Of data of any lengths along any axis, whatever is lost.
TEST(Recovery, GivesBackWhateverIsLost) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const auto count = static_cast<size_t>(draw(rng, 2, 7));
    const int parities = static_cast<int>(draw(rng, 1, 2));
    const auto axis = static_cast<size_t>(draw(rng, 0, 2));
    Shape shape{draw(rng, 1, 4), draw(rng, 1, 4), draw(rng, 1, 4)};
    std::vector<Tensor> members;
    for (size_t i = 0; i < count; ++i) {
      shape[axis] = draw(rng, 1, 5);
      members.push_back(random_tensor(rng, shape));
    }
    const std::vector<Tensor> data = members;
    const Coefficients coefficients = real_coefficients(count, parities);
    for (const auto& row : coefficients) members.push_back(parity_of(data, row, axis));
    for (const std::vector<bool>& here : loss_patterns(members.size(), parities)) {
      const auto recoveries = find_recoveries(coefficients, here);
      ASSERT_TRUE(recoveries.has_value());
      std::vector<Tensor> left = members;
      for (size_t i = 0; i < left.size(); ++i) {
        if (!here[i]) left[i] = Tensor();
      }
      for (const Recovery& recovery : *recoveries) {
        const Tensor& want = data[recovery.data];
        expect_near({recover(recovery, left, axis, want.shape()[axis])}, {want});
      }
    }
  }
}

TEST(Recovery, SaysWhereTooLittleIsLeft) {
  const Coefficients one = real_coefficients(3, 1), two = real_coefficients(3, 2);
  EXPECT_FALSE(find_recoveries(one, {false, true, true, false}).has_value());
  EXPECT_FALSE(find_recoveries(one, {false, false, true, true}).has_value());
  EXPECT_FALSE(find_recoveries(two, {false, false, false, true, true}).has_value());
  EXPECT_TRUE(find_recoveries(two, {false, true, true, true, false}).has_value());
}

// Integers come back to the last bit: modulo 2^32 from a sum, and from two parities where nothing
// overflows.
TEST(Recovery, IsExactForIntegers) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const auto count = static_cast<size_t>(draw(rng, 2, 7));
    const int parities = static_cast<int>(draw(rng, 1, 2));
    const int64_t most = parities == 1 ? std::numeric_limits<int32_t>::max() : 70'000'000;
    const Coefficients coefficients = integer_coefficients(count, parities);
    std::vector<Tensor> members;
    for (size_t i = 0; i < count; ++i) {
      Tensor& value = members.emplace_back(Tensor({DType::kI32, {draw(rng, 1, 9)}}));
      for (int32_t& x : value.data<int32_t>()) x = static_cast<int32_t>(draw(rng, -most, most));
    }
    const std::vector<Tensor> data = members;
    for (const auto& row : coefficients) {
      Tensor& parity = members.emplace_back(Tensor({DType::kI32, {9}}));
      for (size_t i = 0; i < count; ++i) {
        for (size_t e = 0; e < data[i].data<int32_t>().size(); ++e) {
          const int64_t sum =
              parity.data<int32_t>()[e] + static_cast<int64_t>(row[i]) * data[i].data<int32_t>()[e];
          parity.data<int32_t>()[e] = static_cast<int32_t>(sum);
        }
      }
    }
    for (const std::vector<bool>& here : loss_patterns(members.size(), parities)) {
      const auto recoveries = find_recoveries(coefficients, here);
      ASSERT_TRUE(recoveries.has_value());
      for (const Recovery& recovery : *recoveries) {
        const Tensor& want = data[recovery.data];
        const Tensor got = recover(recovery, members, 0, want.shape()[0]);
        ASSERT_TRUE(std::ranges::equal(got.data<int32_t>(), want.data<int32_t>()));
      }
    }
  }
}

// Points on a circle beat the code that comes to mind, ones and 1, 2, ..., and the more so the more
// data there are.
TEST(Coefficients, AreWellConditioned) {
  EXPECT_EQ(worst_condition(real_coefficients(5, 1)), 1);
  for (size_t data = 2; data <= 12; ++data) {
    const double worst = worst_condition(real_coefficients(data, 2));
    EXPECT_LT(worst, data <= 6 ? 6 : 10) << data;
    EXPECT_LT(worst, worst_condition(integer_coefficients(data, 2))) << data;
  }
  EXPECT_TRUE(std::isinf(worst_condition({{1, 1}, {2, 2}})));
}

TEST(Coefficients, AreRefusedWhereTheyAreOfNoUse) {
  EXPECT_TRUE(check_coefficients(real_coefficients(4, 2), 4, false).ok());
  EXPECT_TRUE(check_coefficients(integer_coefficients(4, 2), 4, true).ok());
  EXPECT_FALSE(check_coefficients(real_coefficients(4, 2), 4, true).ok()) << "not whole";
  EXPECT_FALSE(check_coefficients(real_coefficients(4, 2), 5, false).ok());
  EXPECT_FALSE(check_coefficients({}, 4, false).ok());
  const double nan = std::nan("");
  for (const Coefficients& bad : {Coefficients{{1, 0}}, {{1, nan}}, {{1, 1e9}}, {{1, 1}, {2, 2}}}) {
    EXPECT_FALSE(check_coefficients(bad, 2, false).ok());
  }
}

}  // namespace
}  // namespace shoal::plan
