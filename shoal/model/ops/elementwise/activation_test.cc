#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float at(const Operator& op, float x, Attributes attributes = {}) {
  auto y = evaluate(op, {floats({}, {x})}, std::move(attributes));
  EXPECT_TRUE(y.ok());
  return (*y)[0].data<float>()[0];
}

TEST(Activations, KeepNaN) {
  for (const Operator* op : {&relu, &leaky_relu, &elu, &selu, &celu, &hard_sigmoid, &hard_swish,
                             &sigmoid, &softplus, &softsign, &gelu, &mish}) {
    EXPECT_TRUE(std::isnan(at(*op, kNaN))) << op->name;
  }
}

TEST(Softplus, DoesNotOverflow) {
  EXPECT_EQ(at(softplus, 1000), 1000);
  EXPECT_EQ(at(softplus, -1000), 0);
}

TEST(Sigmoid, ReachesBothEnds) {
  EXPECT_EQ(at(sigmoid, 1000), 1);
  EXPECT_EQ(at(sigmoid, -1000), 0);
}

TEST(Gelu, HasAnExactAndAnApproximateForm) {
  EXPECT_NEAR(at(gelu, 1), 0.8413447f, 1e-6f);
  EXPECT_NEAR(at(gelu, 1, {{"approximate", std::string("tanh")}}), 0.8411920f, 1e-6f);
}

TEST(Gelu, RefusesAnUnknownForm) {
  expect_refused(evaluate(gelu, {floats({}, {1})}, {{"approximate", std::string("sine")}}),
                 "approximate is sine");
}

TEST(Shrink, TakesIntegersAndStaysInTheirRange) {
  const Attributes attributes{{"lambd", 1.5f}, {"bias", 100.0f}};
  expect_output(evaluate(shrink, {Tensor::of<int8_t>({4}, {-100, -1, 1, 100})}, attributes),
                Tensor::of<int8_t>({4}, {0, 0, 0, 0}));
  expect_output(evaluate(shrink, {Tensor::of<uint8_t>({2}, {3, 200})}, attributes),
                Tensor::of<uint8_t>({2}, {0, 100}));
}

}  // namespace
}  // namespace shoal::ops
