// Sums and products along a line, diagonals, triangles and determinants.
#include "draws.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

Case cum_sum(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4);
  const auto rank = static_cast<int64_t>(shape.rank());
  return {{random_tensor(rng, shape), Tensor::of<int64_t>({}, {random_int(rng, -rank, rank - 1)})},
          {{"exclusive", random_int(rng, 0, 1)}, {"reverse", random_int(rng, 0, 1)}}};
}

Case eye_like(Rng& rng) {
  Case c{{random_tensor(rng, random_shape(rng, 2, 2, 7))}, {{"k", random_int(rng, -4, 4)}}};
  if (toss(rng)) {
    const DType dtype = random_dtype(rng, Domain::numbers());
    c.attributes["dtype"] = ops::onnx_number_of(dtype);
  }
  return c;
}

Case trilu(Rng& rng) {
  Case c{{random_tensor(rng, random_shape(rng, 2, 4))}, {{"upper", random_int(rng, 0, 1)}}};
  if (toss(rng)) c.inputs.push_back(Tensor::of<int64_t>({}, {random_int(rng, -4, 4)}));
  return c;
}

Case det(Rng& rng) {
  Shape shape = random_shape(rng, 0, 3);
  const int64_t n = random_int(rng, 1, 4);
  shape.push_back(n);
  shape.push_back(n);
  return {{random_tensor(rng, shape)}};
}

}  // namespace

std::vector<Source> triangle_cases() {
  return {{&ops::cum_prod, cum_sum},
          {&ops::cum_sum, cum_sum},
          {&ops::det, det},
          {&ops::eye_like, eye_like},
          {&ops::trilu, trilu}};
}

}  // namespace shoal::laws
