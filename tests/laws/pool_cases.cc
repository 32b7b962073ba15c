#include "laws.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/window.h"

namespace shoal::laws {
namespace {

Case pool(Rng& rng) {
  const auto rank = static_cast<size_t>(random_int(rng, 1, 3));
  Shape x{random_int(rng, 1, 2), random_int(rng, 1, 3)};
  for (size_t d = 0; d < rank; ++d) x.push_back(random_int(rng, 5, 8));
  Attributes attributes{{"kernel_shape", random_ints(rng, rank, 1, 3)},
                        {"strides", random_ints(rng, rank, 1, 3)},
                        {"dilations", random_ints(rng, rank, 1, 2)},
                        {"ceil_mode", random_int(rng, 0, 1)}};
  switch (random_int(rng, 0, 4)) {
    case 0:
      attributes["auto_pad"] = std::string("SAME_UPPER");
      break;
    case 1:
      attributes["auto_pad"] = std::string("SAME_LOWER");
      break;
    default:  // up to 3: some windows then see nothing but padding
      attributes["pads"] = random_ints(rng, 2 * rank, 0, 3);
  }
  return {{random_tensor(rng, x)}, std::move(attributes)};
}

Case average(Rng& rng) {
  Case c = pool(rng);
  c.attributes["count_include_pad"] = random_int(rng, 0, 1);
  return c;
}

Case norm(Rng& rng) {
  Case c = pool(rng);
  c.attributes["p"] = random_int(rng, 1, 3);
  return c;
}

// The gradient of what the pool of `c` gives, for which its window is asked.
Tensor gradient_for(Rng& rng, const Case& c) {
  const Shape& x = c.inputs[0].shape();
  const ops::Window window = ops::window_of(Node{&ops::max_pool, {}, {}, c.attributes, {}}, x);
  return random_tensor(rng, window.output_shape(x[0], x[1]));
}

Case max_backward(Rng& rng) {
  Case c = pool(rng);
  c.inputs.push_back(gradient_for(rng, c));
  return c;
}

Case average_backward(Rng& rng) {
  Case c = average(rng);
  const Shape& x = c.inputs[0].shape();
  c.attributes["image"] = std::vector<int64_t>(x.begin() + 2, x.end());
  c.inputs[0] = gradient_for(rng, c);
  return c;
}

Case global(Rng& rng) { return {{random_tensor(rng, random_shape(rng, 2, 5))}}; }

}  // namespace

std::vector<Source> pool_cases() {
  return {{&ops::average_pool, average},
          {&ops::max_pool, pool},
          {&ops::max_pool_backward, max_backward},
          {&ops::average_pool_backward, average_backward},
          {&ops::lp_pool, norm},
          {&ops::global_average_pool, global},
          {&ops::global_max_pool, global},
          {&ops::global_lp_pool, global}};
}

}  // namespace shoal::laws
