#include "shoal/model/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shoal {
namespace {

TEST(Half, RoundsToNearestEvenAndKeepsSpecialValues) {
  EXPECT_EQ(static_cast<float>(Half(1.0f)), 1.0f);
  EXPECT_EQ(static_cast<float>(Half(65504.0f)), 65504.0f);  // the largest
  EXPECT_TRUE(std::isinf(static_cast<float>(Half(65520.0f))));
  EXPECT_EQ(static_cast<float>(Half(1.0f + 0x1p-11f)), 1.0f);  // a tie goes to even
  EXPECT_EQ(static_cast<float>(Half(1.0f + 0x1.8p-10f)), 1.0f + 0x1p-9f);
  EXPECT_EQ(static_cast<float>(Half(0x1p-24f)), 0x1p-24f);  // the smallest subnormal
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
}

TEST(Half, GivesBackEveryOneOfItsValues) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const auto value = static_cast<float>(std::bit_cast<Half>(pattern));
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<uint16_t>(Half(value)), pattern);
  }
}

TEST(BFloat16, RoundsOrCuts) {
  const float x = 1.0f + 0x1.8p-7f;  // between two values, at three quarters
  EXPECT_EQ(static_cast<float>(BFloat16(x)), 1.0f + 0x1p-6f);
  EXPECT_EQ(static_cast<float>(BFloat16::truncated(x)), 1.0f + 0x1p-7f);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16::truncated(std::nanf("")))));
}

TEST(Tensor, WithoutInitialElementsIsAlignedAndItsOwn) {
  const TensorType type{DType::kF32, {3}};
  Tensor a = Tensor::uninitialized(type);
  const Tensor b = Tensor::uninitialized(type);
  ASSERT_TRUE(a.defined());
  EXPECT_EQ(a.type(), type);
  EXPECT_NE(a.bytes().data(), b.bytes().data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.bytes().data()) % 64, 0u);
  std::ranges::fill(a.data<float>(), 2.0f);
  EXPECT_EQ(a.clone().data<float>()[2], 2.0f);
  EXPECT_TRUE(Tensor::uninitialized({DType::kF32, {0}}).defined());
}

TEST(Check, RefusesNegativeAndOverflowingSizes) {
  EXPECT_TRUE(check({DType::kF32, {2, 3}}).ok());
  EXPECT_TRUE(check({DType::kF32, {0, 5}}).ok());
  EXPECT_FALSE(check({DType::kF32, {-1}}).ok());
  EXPECT_FALSE(check({DType::kF64, {int64_t{1} << 31, int64_t{1} << 31, 4}}).ok());
  EXPECT_FALSE(check({DType::kU8, {0, std::numeric_limits<int64_t>::max()}}).ok());
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = Tensor::of<float>({2}, {1, 2});
  Tensor shared = a, own = a.clone();
  a.data<float>()[0] = 5;
  EXPECT_EQ(shared.data<float>()[0], 5);
  EXPECT_EQ(own.data<float>()[0], 1);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, AViewKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  std::weak_ptr<std::vector<float>> watch = owner;
  const auto* bytes = reinterpret_cast<const std::byte*>(owner->data());
  Tensor view = Tensor::view({DType::kF32, {3}}, bytes, std::move(owner));
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(view.data<float>()[2], 3);
  view = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Region, CropThenPasteIsTheSame) {
  Tensor whole({DType::kI32, {3, 4, 5}});
  int32_t next = 0;
  for (int32_t& x : whole.data<int32_t>()) x = next++;
  Tensor copy({DType::kI32, {3, 4, 5}});
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j : {0, 1}) {
      const Region box{{i, j * 2, 0}, {i + 1, j * 2 + 2, 5}};
      const Tensor part = crop(whole, box);
      EXPECT_EQ(part.shape(), (Shape{1, 2, 5}));
      paste(part, box, copy);
    }
  }
  EXPECT_TRUE(std::ranges::equal(whole.bytes(), copy.bytes()));
}

TEST(Take, PicksIndicesOfEachAxis) {
  const Tensor whole = Tensor::of<int32_t>({2, 3}, {0, 1, 2, 10, 11, 12});
  const Tensor part = take(whole, std::vector<std::vector<int64_t>>{{1, 0}, {0, 2}});
  EXPECT_EQ(part.shape(), (Shape{2, 2}));
  EXPECT_TRUE(std::ranges::equal(part.data<int32_t>(), std::array{10, 12, 0, 2}));
  const Tensor all = take(whole, std::vector<std::vector<int64_t>>{{0, 1}, {0, 1, 2}});
  EXPECT_EQ(all.bytes().data(), whole.bytes().data());
}

TEST(Region, OfAScalarIsTheScalar) {
  const Tensor scalar = Tensor::of<float>({}, {7});
  EXPECT_EQ(crop(scalar, Region::whole({})).data<float>()[0], 7);
}

}  // namespace
}  // namespace shoal
