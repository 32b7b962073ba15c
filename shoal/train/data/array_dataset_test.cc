#include <gtest/gtest.h>

#include <numeric>

#include "shoal/train/data/dataset.h"

namespace shoal {
namespace {

Tensor counted(const Shape& shape) {
  Tensor tensor({DType::kU8, shape});
  std::iota(tensor.data<uint8_t>().begin(), tensor.data<uint8_t>().end(), uint8_t{0});
  return tensor;
}

TEST(ArrayDataset, GivesViewsOfItsImages) {
  const Tensor images = counted({2, 3, 4, 3});
  const auto data = make_array_dataset(images, Tensor::of<int32_t>({2}, {7, -1}));
  ASSERT_TRUE(data.ok());
  ASSERT_EQ((*data)->size(), 2u);
  const auto example = (*data)->at(1);
  ASSERT_TRUE(example.ok());
  EXPECT_EQ(example->image.type(), (TensorType{DType::kU8, {3, 4, 3}}));
  EXPECT_EQ(example->image.bytes().data(), images.bytes().data() + 36);
  EXPECT_EQ(example->label, -1);
}

TEST(ArrayDataset, KeepsItsArraysAlive) {
  Result<Example> example = invalid("none yet");
  {
    const auto data = make_array_dataset(counted({1, 2, 2}), Tensor::of<uint8_t>({1}, {3}));
    ASSERT_TRUE(data.ok());
    example = (*data)->at(0);
  }
  ASSERT_TRUE(example.ok());
  EXPECT_EQ(example->image.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(example->image.data<uint8_t>()[3], 3);
}

TEST(ArrayDataset, RefusesOtherArrays) {
  const Tensor images = counted({2, 3, 3}), labels = Tensor::of<int64_t>({2}, {0, 1});
  const auto code = [](const Tensor& x, const Tensor& y) {
    return make_array_dataset(x, y).status().code();
  };
  EXPECT_EQ(code(images, labels), Code::kOk);
  EXPECT_EQ(code(Tensor(), labels), Code::kInvalidArgument);
  EXPECT_EQ(code(images, Tensor()), Code::kInvalidArgument);
  EXPECT_EQ(code(counted({2, 9}), labels), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor({DType::kF32, {2, 3, 3}}), labels), Code::kInvalidArgument);
  EXPECT_EQ(code(counted({2, 3, 3, 2}), labels), Code::kInvalidArgument);
  EXPECT_EQ(code(counted({2, 0, 3}), labels), Code::kInvalidArgument);
  EXPECT_EQ(code(images, Tensor::of<int64_t>({3}, {0, 1, 2})), Code::kInvalidArgument);
  EXPECT_EQ(code(images, Tensor::of<int64_t>({2, 1}, {0, 1})), Code::kInvalidArgument);
  EXPECT_EQ(code(images, Tensor::of<float>({2}, {0, 1})), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal
