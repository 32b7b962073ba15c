// Element-wise operators with inputs of several kinds, or any number of them.
#include "draws.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

Draw variadic(Domain domain) {
  return [=](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 0, 4);
    const DType dtype = random_dtype(rng, domain.dtypes);
    Case c;
    for (int64_t n = random_int(rng, 1, 4); n > 0; --n) {
      c.inputs.push_back(random_tensor(rng, dtype, shrunk(rng, shape), domain));
    }
    // Often the first is the largest, as it must be to share memory with the output.
    if (toss(rng)) c.inputs[0] = random_tensor(rng, dtype, shape, domain);
    return c;
  };
}

Case where(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4);
  const DType dtype = random_dtype(rng, Domain::numbers());
  const Domain domain{{}, -40, 40};
  return {{random_tensor(rng, DType::kBool, shrunk(rng, shape), {{}, -1, 1}),
           random_tensor(rng, dtype, shape, domain),
           random_tensor(rng, dtype, shrunk(rng, shape), domain)}};
}

Case clip(Rng& rng) {
  const DType dtype = random_dtype(rng, Domain::numbers());
  const Domain domain{{}, -40, 40};
  Case c{{random_tensor(rng, dtype, random_shape(rng, 0, 4), domain), Tensor(), Tensor()}};
  if (toss(rng)) c.inputs[1] = random_tensor(rng, dtype, {}, domain);
  if (toss(rng)) c.inputs[2] = random_tensor(rng, dtype, {1}, domain);
  return c;
}

Case pow(Rng& rng) {
  const DType base = random_dtype(rng, {DType::kF32, DType::kF16, DType::kF64, DType::kI32});
  const Shape shape = random_shape(rng, 0, 4);
  return {{random_tensor(rng, base, shape, {{}, 0.5f, 4}),
           random_tensor(rng, random_dtype(rng, Domain::numbers()), shrunk(rng, shape), {})}};
}

Case cast(Rng& rng) {
  const Domain domain{Domain::numbers(), -300, 300};
  const DType from = random_dtype(rng, domain.dtypes), to = random_dtype(rng, domain.dtypes);
  return {{random_tensor(rng, from, random_shape(rng, 0, 4), domain)},
          {{"to", ops::onnx_number_of(to)}}};
}

Case cast_like(Rng& rng) {
  const Domain domain{Domain::numbers(), -300, 300};
  const DType from = random_dtype(rng, domain.dtypes), to = random_dtype(rng, domain.dtypes);
  return {{random_tensor(rng, from, random_shape(rng, 0, 4), domain),
           random_tensor(rng, to, random_shape(rng, 0, 4), domain)}};
}

Case narrow_cast(Rng& rng) {
  const Domain domain{Domain::numbers(), -300, 300};
  return {{random_tensor(rng, random_dtype(rng, domain.dtypes), random_shape(rng, 0, 4), domain)},
          {{"type", random_int(rng, 17, 26)}, {"saturate", random_int(rng, 0, 1)}}};
}

// To the integer of the same size: comparing floats of any bits would compare NaNs.
Case bit_cast(Rng& rng) {
  const bool wide = toss(rng);
  return {{random_tensor(rng, wide ? DType::kF64 : DType::kF32, random_shape(rng, 0, 4), {})},
          {{"to", ops::onnx_number_of(wide ? DType::kI64 : DType::kI32)}}};
}

// Drawing with a seed gives the same again, which is what sharing memory needs.
Case dropout(Rng& rng) {
  const DType dtype = random_dtype(rng, Domain::floats());
  Case c{{random_tensor(rng, dtype, random_shape(rng, 0, 4), {}), Tensor::of<float>({}, {0.25f}),
          Tensor::of<bool>({}, {toss(rng)})},
         {{"seed", int64_t{3}}}};
  if (toss(rng)) c.inputs.resize(1);
  c.outputs = toss(rng) ? 2 : 1;
  return c;
}

}  // namespace

std::vector<Source> nary_cases() {
  const Domain numbers{Domain::numbers(), -40, 40};
  return {{&ops::bit_cast, bit_cast},       {&ops::cast, cast},
          {&ops::cast_like, cast_like},     {&ops::clip, clip},
          {&ops::narrow_cast, narrow_cast}, {&ops::dropout, dropout},
          {&ops::max, variadic(numbers)},   {&ops::mean, variadic({})},
          {&ops::min, variadic(numbers)},   {&ops::pow, pow},
          {&ops::sum, variadic({})},        {&ops::where, where}};
}

}  // namespace shoal::laws
