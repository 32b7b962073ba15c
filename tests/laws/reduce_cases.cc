#include "draws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

// A subset of the axes, some counted from the end; may be empty.
std::vector<int64_t> random_axes(Rng& rng, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) {
    if (toss(rng))
      axes.push_back(static_cast<int64_t>(d) - (toss(rng) ? static_cast<int64_t>(rank) : 0));
  }
  return axes;
}

Attributes random_attributes(Rng& rng) {
  return {{"keepdims", random_int(rng, 0, 1)}, {"noop_with_empty_axes", random_int(rng, 0, 1)}};
}

Draw reduction(Domain domain) {
  return [=](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 0, 4);
    Case c{{random_tensor(rng, random_dtype(rng, domain.dtypes), shape, domain)},
           random_attributes(rng)};
    if (toss(rng)) c.attributes["axes"] = random_axes(rng, shape.rank());
    return c;
  };
}

Case with_axes_input(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4);
  Case c{{random_tensor(rng, shape)}, random_attributes(rng)};
  if (toss(rng)) c.inputs.push_back(ints(random_axes(rng, shape.rank())));
  return c;
}

// Few values, so that some are equal.
Case arg(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4);
  const auto rank = static_cast<int64_t>(shape.rank());
  return {{random_tensor(rng, DType::kI32, shape, {{}, -3, 3})},
          {{"axis", random_int(rng, -rank, rank - 1)},
           {"keepdims", random_int(rng, 0, 1)},
           {"select_last_index", random_int(rng, 0, 1)}}};
}

}  // namespace

std::vector<Source> reduce_cases() {
  const Domain numbers{Domain::numbers(), -5, 5}, positive{Domain::floats(), 0.5f, 3};
  return {{&ops::arg_max, arg},
          {&ops::arg_min, arg},
          {&ops::reduce_l1, reduction(numbers)},
          {&ops::reduce_l2, reduction(numbers)},
          {&ops::reduce_log_sum, reduction(positive)},
          {&ops::reduce_log_sum_exp, reduction({})},
          {&ops::reduce_max, reduction(numbers)},
          {&ops::reduce_mean, reduction({{DType::kF32}})},
          {&ops::reduce_min, reduction(numbers)},
          {&ops::reduce_prod, reduction(numbers)},
          {&ops::reduce_sum, with_axes_input},
          {&ops::reduce_sum_square, reduction(numbers)}};
}

}  // namespace shoal::laws
