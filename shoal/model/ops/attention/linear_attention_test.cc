#include <cmath>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

// One head with keys and values of one element.
Attributes one_head(std::string rule) {
  return {{"q_num_heads", int64_t{1}},
          {"kv_num_heads", int64_t{1}},
          {"scale", 1.0f},
          {"update_rule", std::move(rule)}};
}

TEST(LinearAttention, AddsUpWhatItHasSeen) {
  const Tensor q = floats({1, 3, 1}, {1, 1, 2}), k = floats({1, 3, 1}, {1, 2, 1});
  const Tensor v = floats({1, 3, 1}, {5, 7, 1});
  const auto y = evaluate(linear_attention, {q, k, v}, one_head("linear"), 2);
  expect_output(y, floats({1, 3, 1}, {5, 19, 40}));
  expect_equal((*y)[1], floats({1, 1, 1, 1}, {20}));
}

TEST(LinearAttention, ReplacesWhatAKeyStoodFor) {
  const Tensor one = floats({1, 2, 1}, {1, 1}), v = floats({1, 2, 1}, {5, 7});
  const auto y =
      evaluate(linear_attention, {one, one, v, Tensor(), Tensor(), one}, one_head("delta"));
  expect_output(y, floats({1, 2, 1}, {5, 7}));
}

TEST(LinearAttention, ForgetsAtTheRateOfItsGate) {
  const Tensor one = floats({1, 1, 1}, {1}), zero = floats({1, 1, 1}, {0});
  const Tensor past = floats({1, 1, 1, 1}, {8}), decay = floats({1, 1, 1}, {std::log(0.5f)});
  const auto y = evaluate(linear_attention, {one, zero, zero, past, decay}, one_head("gated"));
  expect_output(y, floats({1, 1, 1}, {4}));
}

TEST(LinearAttention, RefusesWhatDoesNotGoTogether) {
  const Tensor x = floats({1, 1, 1}, {1});
  expect_refused(evaluate(linear_attention, {x, x, x}, one_head("gated")), "decay and beta");
  expect_refused(evaluate(linear_attention, {x, x, x}, one_head("frob")), "update_rule");
  expect_refused(evaluate(linear_attention, {x, x, x}), "multiple");
  expect_refused(
      evaluate(linear_attention, {x, Tensor({DType::kF32, {1, 2, 1}}), x}, one_head("linear")),
      "go together");
  expect_refused(evaluate(linear_attention, {x, x, x, x}, one_head("linear")), "past_state");
  const Tensor none({DType::kF32, {1, 1, 0}});
  expect_refused(evaluate(linear_attention, {none, none, none}, one_head("linear")), "no elements");
  // The state would have 2^60 elements.
  const Tensor long_row = Tensor::view({DType::kF32, {1, 0, int64_t{1} << 30}}, nullptr, nullptr);
  expect_refused(evaluate(linear_attention, {long_row, long_row, long_row}, one_head("linear")),
                 "");
}

}  // namespace
}  // namespace shoal::ops
