#include <array>
#include <cmath>

#include "laws.h"
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

// Where a function jumps, two sums that differ in their last bit differ much.
bool is_continuous(const ops::Activation& f) {
  for (float x = -5; x < 5; x += 1e-3f) {
    if (std::abs(f(x + 1e-3f) - f(x)) > 0.1f) return false;
  }
  return true;
}

// What can be fused; null: nothing.
std::vector<const Operator*> activations() {
  std::vector<const Operator*> all{nullptr};
  for (const Operator* op : ops::all()) {
    const auto function = ops::plain_activation(op);
    if (function && op->elementwise.finite && is_continuous(*function)) all.push_back(op);
  }
  return all;
}

void add_random_activation(Rng& rng, Case& c) {
  static const std::vector<const Operator*> all = activations();
  const Operator* op = all[static_cast<size_t>(random_int(rng, 0, std::ssize(all) - 1))];
  c.attributes["activation"] = std::string(op != nullptr ? op->name : "");
  if (random_int(rng, 0, 1) == 0) return;  // the defaults
  c.attributes["activation_alpha"] = 0.25f;
  c.attributes["activation_beta"] = 0.5f;
}

// Bias and residual come and go, each without the other.
void add_random_sums(Rng& rng, Case& c, const Shape& bias, const Shape& residual) {
  c.inputs.push_back(random_int(rng, 0, 1) != 0 ? random_tensor(rng, bias) : Tensor());
  if (random_int(rng, 0, 1) != 0) c.inputs.push_back(random_tensor(rng, residual));
}

Case conv(Rng& rng) {
  const int64_t group = random_int(rng, 1, 2), n = random_int(rng, 1, 2);
  const int64_t h = random_int(rng, 3, 8), w = random_int(rng, 3, 8), m = 2 * group;
  Case c{{random_tensor(rng, {n, 3 * group, h, w}), random_tensor(rng, {m, 3, 3, 3})},
         {{"group", group}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}}};
  add_random_activation(rng, c);
  add_random_sums(rng, c, {m}, {n, m, h, w});
  return c;
}

Case conv_transpose(Rng& rng) {
  const int64_t group = random_int(rng, 1, 2), n = random_int(rng, 1, 2), stride = 2;
  const int64_t h = random_int(rng, 2, 5), w = random_int(rng, 2, 5), m = 2 * group;
  Case c{{random_tensor(rng, {n, 3 * group, h, w}), random_tensor(rng, {3 * group, 2, 4, 4})},
         {{"group", group},
          {"pads", std::vector<int64_t>{1, 1, 1, 1}},
          {"strides", std::vector{stride, stride}}}};
  add_random_activation(rng, c);
  add_random_sums(rng, c, {m}, {n, m, stride * h, stride * w});
  return c;
}

Case gemm(Rng& rng) {
  const int64_t m = random_int(rng, 1, 9), n = random_int(rng, 1, 9), k = random_int(rng, 1, 9);
  Case c{{random_tensor(rng, {m, k}), random_tensor(rng, {n, k})}, {{"transB", int64_t{1}}}};
  add_random_activation(rng, c);
  add_random_sums(rng, c, {n}, {m, n});
  return c;
}

Case mat_mul(Rng& rng) {
  const int64_t m = random_int(rng, 1, 5), n = random_int(rng, 1, 5), k = random_int(rng, 1, 5);
  Shape rows = random_shape(rng, 0, 2, 3);
  rows.push_back(m);
  Shape a = rows, y = rows;
  a.push_back(k);
  y.push_back(n);
  Case c{{random_tensor(rng, a), random_tensor(rng, {k, n})}};
  add_random_activation(rng, c);
  add_random_sums(rng, c, {n}, y);
  return c;
}

Case attention(Rng& rng) {
  const int64_t b = random_int(rng, 1, 3), h = random_int(rng, 1, 3), q = random_int(rng, 1, 5);
  const int64_t k = random_int(rng, 1, 5), d = random_int(rng, 1, 4), w = random_int(rng, 1, 4);
  const bool tokens_first = random_int(rng, 0, 1) == 1;
  auto shape = [&](int64_t tokens, int64_t size) {
    return tokens_first ? Shape{b, tokens, h, size} : Shape{b, h, tokens, size};
  };
  Case c{{random_tensor(rng, shape(q, d)), random_tensor(rng, shape(k, d)),
          random_tensor(rng, shape(k, w))},
         {{"scale", 0.5f}, {"tokens_first", int64_t{tokens_first}}}};
  switch (random_int(rng, 0, 3)) {
    case 0:
      c.inputs.push_back(random_tensor(rng, {q, k}));
      break;
    case 1:
      c.inputs.push_back(random_tensor(rng, {b, 1, 1, k}));
      break;
    case 2:
      c.inputs.push_back(random_tensor(rng, {b, h, q, k}));
      break;
    default:
      break;
  }
  return c;
}

Case linear_attention(Rng& rng) {
  const int64_t b = random_int(rng, 1, 2), t = random_int(rng, 1, 4), heads = random_int(rng, 1, 3);
  const int64_t shared = random_int(rng, 1, 2), d = random_int(rng, 1, 4),
                w = random_int(rng, 1, 4);
  const std::array rules = {"linear", "gated", "delta", "gated_delta"};
  auto random = [&](int64_t size) { return random_tensor(rng, {b, t, size}); };
  Case c{{random(heads * shared * d), random(heads * d), random(heads * w)},
         {{"q_num_heads", heads * shared},
          {"kv_num_heads", heads},
          {"update_rule", std::string(rules[static_cast<size_t>(random_int(rng, 0, 3))])}},
         static_cast<size_t>(random_int(rng, 1, 2))};
  c.inputs.push_back(random_int(rng, 0, 1) != 0 ? random_tensor(rng, {b, heads, d, w}) : Tensor());
  c.inputs.push_back(random(random_int(rng, 0, 1) != 0 ? heads * d : heads));
  c.inputs.push_back(random(random_int(rng, 0, 1) != 0 ? heads : 1));
  return c;
}

}  // namespace

std::vector<Source> fused_cases() {
  return {{&ops::fused_conv, conv},     {&ops::fused_conv_transpose, conv_transpose},
          {&ops::fused_gemm, gemm},     {&ops::fused_mat_mul, mat_mul},
          {&ops::attention, attention}, {&ops::linear_attention, linear_attention}};
}

}  // namespace shoal::laws
