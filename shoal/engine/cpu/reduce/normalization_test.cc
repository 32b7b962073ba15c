#include <gtest/gtest.h>

#include <limits>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

Tensor shifted(Tensor x, float by) {
  for (float& element : x.data<float>()) element += by;
  return x;
}

TEST(Softmax, AgreesAlongTheLastAxis) {
  std::mt19937 rng(1);
  expect_agreement(ops::softmax, {random_floats(rng, {128, 200})}, {}, "vector");
  expect_agreement(ops::softmax, {random_floats(rng, {3, 1000, 1})}, {{"axis", int64_t{1}}},
                   "vector");
  for (const int64_t n : {1, 2, 5, 16, 17}) {
    expect_agreement(ops::softmax, {shifted(random_floats(rng, {4099, n}), 1000)}, {}, "vector");
  }
}

TEST(Softmax, AgreesAlongOtherAxes) {
  std::mt19937 rng(1);
  for (const Shape& shape : {Shape{2, 21, 15, 15}, {1, 3, 1, 7}, {5, 100, 64, 2}}) {
    expect_agreement(ops::softmax, {random_floats(rng, shape)}, {{"axis", int64_t{1}}}, "vector");
  }
}

TEST(Softmax, GivesNothingToWhatIsInfinitelyFar) {
  constexpr float kFar = -std::numeric_limits<float>::infinity();
  Tensor x({DType::kF32, {40, 3}});
  for (size_t i = 0; i < 120; ++i) x.data<float>()[i] = i % 3 == 1 ? kFar : 0;
  expect_agreement(ops::softmax, {x}, {}, "vector", 0);
  expect_agreement(ops::softmax, {x.reshaped({1, 3, 40})}, {}, "vector", 0);
}

// A mean far from zero is where careless sums lose everything.
TEST(RMSNormalization, Agrees) {
  std::mt19937 rng(1);
  for (const int64_t n : {5, 256, 3001}) {
    const Tensor scale = random_floats(rng, {n});
    expect_agreement(ops::rms_normalization, {random_floats(rng, {3, 17, n}), scale}, {}, "rows");
    expect_agreement(ops::rms_normalization, {shifted(random_floats(rng, {4, n}), 30), scale}, {},
                     "rows");
  }
}

TEST(LayerNormalization, Agrees) {
  std::mt19937 rng(1);
  for (const int64_t n : {5, 256, 3001}) {
    const Tensor scale = random_floats(rng, {n}), bias = random_floats(rng, {n});
    expect_agreement(ops::layer_normalization, {random_floats(rng, {3, 17, n}), scale, bias}, {},
                     "rows");
    expect_agreement(ops::layer_normalization, {shifted(random_floats(rng, {4, n}), 30), scale}, {},
                     "rows", 1e-4f);
  }
  expect_agreement(
      ops::layer_normalization,
      {random_floats(rng, {5, 6, 7}), random_floats(rng, {6, 7}), random_floats(rng, {6, 7})},
      {{"axis", int64_t{1}}}, "rows");
}

TEST(InstanceNormalization, Agrees) {
  std::mt19937 rng(1);
  expect_agreement(
      ops::instance_normalization,
      {random_floats(rng, {2, 9, 33, 35}), random_floats(rng, {9}), random_floats(rng, {9})}, {},
      "planes");
}

TEST(BatchNormalization, Agrees) {
  std::mt19937 rng(1);
  expect_agreement(
      ops::batch_normalization,
      {random_floats(rng, {2, 9, 33, 35}), random_floats(rng, {9}), random_floats(rng, {9}),
       random_floats(rng, {9}), shifted(random_floats(rng, {9}), 1.5f)},
      {}, "planes");
}

}  // namespace
}  // namespace shoal::cpu
