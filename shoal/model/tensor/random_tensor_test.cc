#include "shoal/model/tensor/random_tensor.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal {
namespace {

TEST(RandomTensor, HasFloatsBelowOneAndIntegersBelowTwo) {
  std::mt19937 rng(1);
  const Tensor floats = random_tensor({DType::kF32, {1000}}, rng);
  for (float x : floats.data<float>()) EXPECT_TRUE(x >= 0 && x < 1) << x;
  const std::set<float> distinct(floats.data<float>().begin(), floats.data<float>().end());
  EXPECT_GT(distinct.size(), 900u);
  const Tensor indices = random_tensor({DType::kI64, {1000}}, rng);
  const std::set<int64_t> seen(indices.data<int64_t>().begin(), indices.data<int64_t>().end());
  EXPECT_EQ(seen, (std::set<int64_t>{0, 1}));
}

TEST(RandomTensor, FollowsFromTheGenerator) {
  std::mt19937 one(7), same(7), other(8);
  const TensorType type{DType::kF32, {5}};
  const auto bytes = [&](std::mt19937& rng) {
    const Tensor tensor = random_tensor(type, rng);
    return std::vector<float>(tensor.data<float>().begin(), tensor.data<float>().end());
  };
  const std::vector<float> first = bytes(one);
  EXPECT_EQ(first, bytes(same));
  EXPECT_NE(first, bytes(other));
  EXPECT_NE(first, bytes(one));  // the generator has moved on
}

}  // namespace
}  // namespace shoal
