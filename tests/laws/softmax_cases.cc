#include "laws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {

std::vector<Source> softmax_cases() {
  auto along_an_axis = [](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 1, 4);
    const auto rank = static_cast<int64_t>(shape.rank());
    return {{random_tensor(rng, shape)}, {{"axis", random_int(rng, -rank, rank - 1)}}};
  };
  return {{&ops::softmax, along_an_axis},
          {&ops::log_softmax, along_an_axis},
          {&ops::hardmax, along_an_axis}};
}

}  // namespace shoal::laws
