#include "shoal/model/ops/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

// h_t = x_t + h_{t-1}, which makes the walk visible.
const Attributes kSum = {{"activations", std::vector<std::string>{"Affine", "Affine"}}};

Attributes with(Attributes attributes, std::string key, Attribute value) {
  attributes[std::move(key)] = std::move(value);
  return attributes;
}

Tensor one(const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  std::ranges::fill(tensor.data<float>(), 1.0f);
  return tensor;
}

TEST(Recurrent, WalksForwardAndBackward) {
  const std::vector<Tensor> inputs{floats({3, 1, 1}, {1, 2, 4}), one({1, 1, 1}), one({1, 1, 1})};
  expect_output(evaluate(rnn, inputs, kSum), floats({3, 1, 1, 1}, {1, 3, 7}));
  auto back = evaluate(rnn, inputs, with(kSum, "direction", std::string("reverse")), 2);
  expect_output(back, floats({3, 1, 1, 1}, {7, 6, 4}));
  expect_equal((*back)[1], floats({1, 1, 1}, {7}));
}

TEST(Recurrent, EndsEachSequenceAtItsLength) {
  const Tensor x = floats({2, 2, 1}, {1, 2, 4, 8});  // sequences 1, 4 and 2, 8
  auto y =
      evaluate(rnn, {x, one({2, 1, 1}), one({2, 1, 1}), Tensor(), Tensor::of<int32_t>({2}, {2, 1})},
               with(kSum, "direction", std::string("bidirectional")), 2);
  expect_output(y, floats({2, 2, 2, 1}, {1, 2, 5, 2, 5, 0, 4, 0}));
  expect_equal((*y)[1], floats({2, 2, 1}, {5, 2, 5, 2}));
}

// Lengths are elements: they may be anything when it runs.
TEST(Recurrent, SurvivesLengthsOutOfRange) {
  expect_output(evaluate(rnn,
                         {one({2, 2, 1}), one({1, 1, 1}), one({1, 1, 1}), Tensor(),
                          Tensor::of<int32_t>({2}, {-5, 99}), one({1, 2, 1})},
                         kSum),
                floats({2, 1, 2, 1}, {0, 2, 0, 3}));
}

TEST(Recurrent, BatchFirstIsTheSameTransposed) {
  const Tensor x = floats({2, 3, 1}, {1, 2, 4, 10, 20, 40});
  expect_output(
      evaluate(rnn, {x, one({1, 1, 1}), one({1, 1, 1})}, with(kSum, "layout", int64_t{1})),
      floats({2, 3, 1, 1}, {1, 3, 7, 10, 30, 70}));
}

TEST(Recurrent, GivesParametersOnlyToFunctionsThatHaveThem) {
  // Relu takes none, so LeakyRelu of the second direction gets the first alpha.
  const Attributes attributes = {{"activations", std::vector<std::string>{"Relu", "LeakyRelu"}},
                                 {"activation_alpha", std::vector<float>{0.5f}},
                                 {"direction", std::string("bidirectional")}};
  expect_output(
      evaluate(rnn, {floats({1, 1, 1}, {-4}), one({2, 1, 1}), one({2, 1, 1})}, attributes),
      floats({1, 2, 1, 1}, {0, -2}));
}

TEST(Recurrent, ClipsWhatActivationsSee) {
  expect_output(evaluate(rnn, {floats({1, 1, 1}, {9}), one({1, 1, 1}), one({1, 1, 1})},
                         with(kSum, "clip", 2.0f)),
                floats({1, 1, 1, 1}, {2}));
}

TEST(Recurrent, ComputesHalvesInSinglePrecision) {
  auto half = [](const Shape& shape, float value) {
    return Tensor::of<Half>(shape, std::vector<Half>(static_cast<size_t>(shape.count()), value));
  };
  auto y =
      evaluate(lstm, {half({1, 1, 1}, 1), half({1, 4, 1}, 0.5f), half({1, 4, 1}, 0.5f)}, {}, 3);
  ASSERT_TRUE(y.ok());
  const double gate = 1 / (1 + std::exp(-0.5));
  EXPECT_NEAR((*y)[2].data<Half>()[0], gate * std::tanh(0.5), 1e-3);
}

TEST(Recurrent, CountsBothProducts) {
  const std::vector<Operand> inputs{{true, {DType::kF32, {5, 2, 3}}},
                                    {true, {DType::kF32, {1, 16, 3}}},
                                    {true, {DType::kF32, {1, 16, 4}}}};
  const Node node{&lstm, {}, {ValueId{0}}, {}, {}};
  EXPECT_EQ(lstm.macs(node, inputs, {}), 5 * 2 * 16 * (3 + 4));
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const Tensor x = one({2, 3, 4}), w = one({1, 15, 4}), r = one({1, 15, 5});
  auto refused = [&](std::vector<Tensor> inputs, Attributes attributes, std::string_view why) {
    expect_refused(evaluate(gru, std::move(inputs), std::move(attributes)), why);
  };
  EXPECT_TRUE(evaluate(gru, {x, w, r}).ok());
  refused({x, one({1, 15, 3}), r}, {}, "input 1 has shape");
  refused({x, w, one({1, 10, 5})}, {}, "input 2 has shape");
  refused({x, w, r}, {{"direction", std::string("bidirectional")}}, "input 1 has shape");
  refused({x, w, r, one({1, 15})}, {}, "input 3 has shape");
  refused({x, w, r, Tensor(), ints({2})}, {}, "input 4 has shape");
  refused({x, w, r, Tensor(), Tensor(), one({3, 1, 5})}, {}, "input 5 has shape");
  refused({x, w, r}, {{"hidden_size", int64_t{4}}}, "hidden_size");
  refused({x, w, r}, {{"layout", int64_t{2}}}, "layout");
  refused({x, w, r}, {{"direction", std::string("up")}}, "unknown");
  refused({x, w, r}, {{"activations", std::vector<std::string>{"Tanh"}}}, "needs 2");
  refused({x, w, r}, {{"activations", std::vector<std::string>{"Tanh", "Softmax"}}},
          "'Softmax' is unknown");
  refused({x, w, r}, {{"clip", -1.0f}}, "clip");
  refused({x.reshaped({6, 4}), w, r}, {}, "rank");
}

}  // namespace
}  // namespace shoal::ops
