// Nodes of every opset mean what they meant: each test runs one and looks at the answer.
#include "shoal/model/onnx/opsets/normalize.h"

#include <gtest/gtest.h>

#include "shoal/model/onnx/bind/node_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

TEST(Normalize, SoftmaxWorkedOnEverythingFromItsAxis) {
  const Tensor zeros({DType::kF32, {2, 2, 2}});
  EXPECT_EQ(answer({"Softmax", 12, {zeros}}), "2x2x2: 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25");
  EXPECT_EQ(answer({"Softmax", 13, {zeros}}), "2x2x2: 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5");
  EXPECT_EQ(answer({"Hardmax", 11, {count({2, 3})}}), "2x3: 0 0 1 0 0 1");
}

TEST(Normalize, AttributesBecameInputs) {
  EXPECT_EQ(answer({"Reshape", 1, {count({2, 2})}, {ints("shape", {4})}}), "4: 0 1 2 3");
  EXPECT_EQ(answer({"Squeeze", 11, {count({1, 2, 1})}, {ints("axes", {0})}}), "2x1: 0 1");
  EXPECT_EQ(answer({"Unsqueeze", 1, {count({2})}, {ints("axes", {0, 2})}}), "1x2x1: 0 1");
  EXPECT_EQ(answer({"Slice", 1, {count({4})}, {ints("starts", {1}), ints("ends", {3})}}), "2: 1 2");
  EXPECT_EQ(answer({"Slice",
                    9,
                    {count({2, 3})},
                    {ints("axes", {1}), ints("starts", {-1}), ints("ends", {1000})}}),
            "2x1: 2 5");
  EXPECT_EQ(answer({"Pad", 2, {count({2})}, {ints("pads", {1, 0}), real("value", 9)}}), "3: 9 0 1");
  EXPECT_EQ(answer({"Pad", 1, {count({2})}, {ints("paddings", {0, 1})}}), "3: 0 1 0");
  EXPECT_EQ(answer({"TopK", 1, {count({4})}, {integer("k", 2)}, 2}), "2: 3 2");
  EXPECT_EQ(answer({"TopK", 1, {count({4})}, {integer("k", 2)}, 2}, 1), "2: 3 2");
  EXPECT_EQ(answer({"Clip", 6, {count({4})}, {real("min", 1), real("max", 2)}}), "4: 1 1 2 2");
  EXPECT_EQ(answer({"Clip", 6, {count({4})}, {real("max", 2)}}), "4: 0 1 2 2");
  EXPECT_EQ(answer({"ReduceSum", 11, {count({2, 2})}, {ints("axes", {0})}}), "1x2: 2 4");
  EXPECT_EQ(answer({"Split", 2, {count({3})}, {ints("split", {1, 2})}, 2}, 1), "2: 1 2");
  EXPECT_EQ(answer({"Tile", 1, {count({2}), i64({2}), i64({0})}}), "4: 0 1 0 1");
  EXPECT_EQ(answer({"Concat", 1, {count({1, 2}), count({1, 2})}}), "1x4: 0 1 0 1");
}

TEST(Normalize, InputsThatOpset17HasAsAttributes) {
  EXPECT_EQ(answer({"ReduceMax", 18, {count({2, 2}), i64({0})}}), "1x2: 2 3");
  EXPECT_EQ(answer({"ReduceMean", 18, {count({2, 2})}, {integer("keepdims", 0)}}), ": 1.5");
  EXPECT_EQ(answer({"ReduceMean", 18, {count({2})}, {integer("noop_with_empty_axes", 1)}}),
            "2: 0 1");
}

TEST(Normalize, OpsetsBeyond17) {
  EXPECT_EQ(answer({"Split", 18, {count({5})}, {integer("num_outputs", 3)}, 3}, 0), "2: 0 1");
  EXPECT_EQ(answer({"Split", 18, {count({5})}, {integer("num_outputs", 3)}, 3}, 2), "1: 4");
  EXPECT_EQ(answer({"Pad", 18, {count({1, 2}), i64({1, 1}), Tensor(), i64({-1})}}), "1x4: 0 0 1 0");
  EXPECT_EQ(answer({"Cast", 19, {count({2})}, {integer("to", 7), integer("saturate", 1)}}),
            "2: 0 1");
  EXPECT_EQ(answer({"Gelu", 20, {count({1})}}), "1: 0");
  EXPECT_EQ(answer({"Gelu", 19, {count({1})}}), "unsupported operators: Gelu (node y0)");
  EXPECT_EQ(answer({"GroupNormalization",
                    18,
                    {count({1, 2, 2}), Tensor::of<float>({1}, {0}), Tensor::of<float>({1}, {3})},
                    {integer("num_groups", 1)}}),
            "1x2x2: 3 3 3 3");
}

TEST(Normalize, CentreIsCutOutOrPadded) {
  const Tensor x = count({1, 5});
  EXPECT_EQ(answer({"CenterCropPad", 18, {x, i64({1, 2})}}), "1x2: 1 2");
  EXPECT_EQ(answer({"CenterCropPad", 18, {x, i64({2, 4})}}), "2x4: 0 1 2 3 0 0 0 0");
  EXPECT_EQ(answer({"CenterCropPad", 18, {x, i64({8})}, {ints("axes", {-1})}}),
            "1x8: 0 0 1 2 3 4 0 0");
  EXPECT_EQ(answer({"CenterCropPad", 18, {x, i64({8})}}),
            "CenterCropPad y0: shape and axes do not go together");
  EXPECT_EQ(answer({"CenterCropPad", 18, {x, i64({1, -1})}}),
            "CenterCropPad y0: shape is out of range");
}

TEST(Normalize, AffineGridGivesEveryPixelItsPlace) {
  // x is doubled, y moved by 10.
  const Tensor theta = Tensor::of<float>({1, 2, 3}, {2, 0, 0, 0, 1, 10});
  EXPECT_EQ(answer({"AffineGrid", 20, {theta, i64({1, 3, 2, 2})}}),
            "1x2x2x2: -1 9.5 1 9.5 -1 10.5 1 10.5");
  EXPECT_EQ(answer({"AffineGrid", 20, {theta, i64({1, 3, 1, 3})}, {integer("align_corners", 1)}}),
            "1x1x3x2: -2 10 0 10 2 10");
  const Tensor volume = Tensor::of<float>({1, 3, 4}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0});
  EXPECT_EQ(answer({"AffineGrid", 20, {volume, i64({1, 1, 2, 1, 1})}}),
            "1x2x1x1x3: -0.5 0 0 0.5 0 0");
  EXPECT_EQ(answer({"AffineGrid", 20, {theta, i64({2, 3, 2, 2})}}),
            "AffineGrid y0: theta [1,2,3] does not fit the size");
}

TEST(Normalize, BroadcastingWasExplicit) {
  const Tensor b = Tensor::of<float>({2}, {10, 20});
  EXPECT_EQ(answer({"Add", 6, {count({2, 2}), b}, {integer("broadcast", 1), integer("axis", 0)}}),
            "2x2: 10 11 22 23");
  EXPECT_EQ(answer({"Add", 6, {count({2, 2}), b}, {integer("broadcast", 1)}}), "2x2: 10 21 12 23");
  EXPECT_EQ(answer({"Add", 6, {count({2, 2}), b}, {integer("broadcast", 1), integer("axis", 2)}}),
            "Add y0: axis is out of range");
  EXPECT_EQ(answer({"PRelu", 6, {count({1, 2, 1, 2}, -4), Tensor::of<float>({2}, {1, 10})}}),
            "1x2x1x2: -4 -3 -20 -10");
}

TEST(Normalize, UpsampleIsAResize) {
  EXPECT_EQ(answer({"Upsample", 7, {count({1, 1, 1, 2})}, {floats("scales", {1, 1, 1, 2})}}),
            "1x1x1x4: 0 0 1 1");
  EXPECT_EQ(answer({"Upsample", 9, {count({1, 1, 1, 2}), Tensor::of<float>({4}, {1, 1, 2, 1})}}),
            "1x1x2x2: 0 1 0 1");
  EXPECT_EQ(answer({"Resize",
                    10,
                    {count({1, 1, 1, 4}), Tensor::of<float>({4}, {1, 1, 1, 0.5f})},
                    {text("mode", "nearest")}}),
            "1x1x1x2: 0 2");
  EXPECT_EQ(answer({"Resize",
                    11,
                    {count({1, 1, 1, 2}), Tensor({DType::kF32, {0}}), Tensor({DType::kF32, {0}}),
                     i64({1, 1, 1, 4})},
                    {text("coordinate_transformation_mode", "asymmetric")}}),
            "1x1x1x4: 0 0 1 1");
}

TEST(Normalize, InferenceOnly) {
  EXPECT_EQ(answer({"Dropout", 7, {count({2})}, {real("ratio", 0.9f)}}), "2: 0 1");
  EXPECT_EQ(answer({"Dropout", 7, {count({2})}, {real("ratio", 0.9f)}, 2}, 1), "2: 1 1");
  EXPECT_EQ(answer({"BatchNormalization",
                    7,
                    {count({1, 1, 2}), Tensor::of<float>({1}, {2}), Tensor::of<float>({1}, {5}),
                     Tensor::of<float>({1}, {0}), Tensor::of<float>({1}, {1})},
                    {real("epsilon", 0), integer("spatial", 1)}}),
            "1x1x2: 5 7");
}

TEST(Normalize, TypesWereText) {
  EXPECT_EQ(answer({"Cast", 1, {count({2})}, {text("to", "INT64")}}), "2: 0 1");
}

TEST(Normalize, TakesWhatOnnxRuntimeWrites) {
  Case conv{"FusedConv", 17, {count({1, 1, 2}, -1), Tensor::of<float>({1, 1, 1}, {2})}};
  conv.attributes = {text("activation", "Relu")};
  conv.domain = "com.microsoft";
  EXPECT_EQ(answer(conv), "1x1x2: 0 0");
  conv.attributes = {text("activation", "Frob")};
  EXPECT_EQ(answer(conv), "FusedConv y0: this activation is not supported");
}

TEST(Normalize, TakesQuantisedOperatorsOfOnnxRuntime) {
  const Tensor x = Tensor::of<uint8_t>({1, 1, 2}, {4, 6}), one = Tensor::of<float>({}, {1});
  Case add{"QLinearAdd", 17, {x, one, Tensor(), x, one, Tensor(), one}};
  add.domain = "com.microsoft";
  EXPECT_EQ(answer(add), "1x1x2: 8 12");
  Case average{"QLinearGlobalAveragePool", 17, {x, one, Tensor(), one}};
  average.domain = "com.microsoft";
  EXPECT_EQ(answer(average), "1x1x1: 5");
  average.attributes = {integer("channels_last", 1)};
  EXPECT_EQ(answer(average),
            "QLinearGlobalAveragePool y0: images with channels last are not supported");
}

TEST(Normalize, TakesTheQuantisedGemmOfOnnxRuntime) {
  const Tensor a = Tensor::of<uint8_t>({1, 2}, {4, 6}), one = Tensor::of<float>({}, {1});
  const Tensor b = Tensor::of<int8_t>({2, 2}, {1, 2, 3, 4}), zero = Tensor::of<int8_t>({}, {0});
  Case gemm{"QGemm", 17, {a, one, Tensor::of<uint8_t>({}, {1}), b, one, zero}};
  gemm.domain = "com.microsoft";
  EXPECT_EQ(answer(gemm), "1x2: 18 26");
  gemm.attributes = {integer("transB", 1), real("alpha", 2)};
  EXPECT_EQ(answer(gemm), "QGemm y0: transA and alpha are not supported");
}

}  // namespace
}  // namespace shoal::onnx
