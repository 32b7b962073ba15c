#include "laws.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::laws {
namespace {

int64_t random_axis(Rng& rng, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.rank());
  return random_int(rng, -rank, rank - 1);
}

Case batch(Rng& rng) {
  const Shape x = random_shape(rng, 1, 5);
  const Shape channels{x.rank() > 1 ? x[1] : 1};
  Case c{{random_tensor(rng, x), random_tensor(rng, channels), random_tensor(rng, channels),
          random_tensor(rng, channels), random_tensor(rng, channels, 0.1f, 2)}};
  if (random_int(rng, 0, 3) == 0) {
    c.attributes["training_mode"] = int64_t{1};
    c.outputs = 3;
  }
  return c;
}

Case batch_backward(Rng& rng) {
  const Shape x = random_shape(rng, 1, 5);
  Tensor image = random_tensor(rng, x);
  Tensor scale = random_tensor(rng, {x.rank() > 1 ? x[1] : 1});
  Tensor dy = random_tensor(rng, x);
  // Of one element there is no variance, and what divides by it magnifies all rounding.
  return {{std::move(image), std::move(scale), std::move(dy)},
          {{"epsilon", 0.1f}},
          static_cast<size_t>(random_int(rng, 1, 3))};
}

Case instance(Rng& rng) {
  const Shape x = random_shape(rng, 2, 5);
  return {{random_tensor(rng, x), random_tensor(rng, {x[1]}), random_tensor(rng, {x[1]})}};
}

// Scale and bias per channel or per group.
Case group(Rng& rng) {
  Shape x = random_shape(rng, 2, 5);
  const int64_t groups = random_int(rng, 1, 3);
  x[1] *= groups;
  const Shape parameters{random_int(rng, 0, 1) != 0 ? x[1] : groups};
  return {{random_tensor(rng, x), random_tensor(rng, parameters), random_tensor(rng, parameters)},
          {{"num_groups", groups}}};
}

// The scale may be smaller than the rows it stretches to, the bias may be missing.
Case layer(Rng& rng) {
  const Shape x = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, x);
  const size_t first = ops::axis_in(axis, x.rank());
  const Shape row(std::span(x.begin() + first, x.end()));
  Case c{{random_tensor(rng, x), random_tensor(rng, row)}, {{"axis", axis}}};
  if (random_int(rng, 0, 1) != 0) c.inputs.push_back(random_tensor(rng, Shape{x[x.rank() - 1]}));
  if (random_int(rng, 0, 3) == 0) c.outputs = 3;
  return c;
}

Case rms(Rng& rng) {
  Case c = layer(rng);
  c.inputs.resize(2);
  c.outputs = 1;
  return c;
}

Case mean_variance(Rng& rng) {
  const Shape x = random_shape(rng, 2, 4);
  return {{random_tensor(rng, x)}, {{"axes", std::vector<int64_t>{0, -1}}}};
}

Case lrn(Rng& rng) {
  return {{random_tensor(rng, random_shape(rng, 2, 4))},
          {{"size", random_int(rng, 1, 6)}, {"alpha", 0.5f}}};
}

Case lp(Rng& rng) {
  const Shape x = random_shape(rng, 1, 4);
  return {{random_tensor(rng, x)}, {{"axis", random_axis(rng, x)}, {"p", random_int(rng, 1, 2)}}};
}

}  // namespace

std::vector<Source> norm_cases() {
  return {{&ops::batch_normalization, batch}, {&ops::batch_normalization_backward, batch_backward},
          {&ops::group_normalization, group}, {&ops::instance_normalization, instance},
          {&ops::layer_normalization, layer}, {&ops::mean_variance_normalization, mean_variance},
          {&ops::rms_normalization, rms},     {&ops::lrn, lrn},
          {&ops::lp_normalization, lp}};
}

}  // namespace shoal::laws
