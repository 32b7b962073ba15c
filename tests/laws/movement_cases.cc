#include <algorithm>
#include <numeric>

#include "laws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

int64_t rank_of(const Shape& shape) { return static_cast<int64_t>(shape.rank()); }

int64_t random_axis(Rng& rng, const Shape& shape) {
  return random_int(rng, -rank_of(shape), rank_of(shape) - 1);
}

size_t absolute(int64_t axis, const Shape& shape) {
  return static_cast<size_t>(axis < 0 ? axis + rank_of(shape) : axis);
}

bool coin(Rng& rng) { return random_int(rng, 0, 1) != 0; }

// Leading axes stay as they are, the others are joined; sometimes written as 0 and -1.
Case reshape(Rng& rng) {
  const Shape from = random_shape(rng, 1, 4);
  const auto kept = static_cast<size_t>(random_int(rng, 0, rank_of(from)));
  std::vector<int64_t> to(from.begin(), from.begin() + kept);
  if (coin(rng)) std::ranges::fill(to, 0);
  to.push_back(coin(rng) ? -1 : from.count(kept, from.rank()));
  return {{random_tensor(rng, from), ints(to)}};
}

// Neighbours among the same factors multiplied, in two ways: as heads are taken from features.
Shape joined(Rng& rng, const std::vector<int64_t>& factors) {
  Shape shape{factors[0]};
  for (size_t i = 1; i < factors.size(); ++i) {
    if (coin(rng) || shape.rank() == 4) {
      shape[shape.rank() - 1] *= factors[i];
    } else {
      shape.push_back(factors[i]);
    }
  }
  return shape;
}

Case reshape_factors(Rng& rng) {
  std::vector<int64_t> factors;
  for (int64_t count = random_int(rng, 2, 6); count > 0; --count) {
    factors.push_back(random_int(rng, 1, 3));
  }
  const Shape from = joined(rng, factors);
  if (coin(rng)) std::ranges::shuffle(factors, rng);
  const Shape to = joined(rng, factors);
  return {{random_tensor(rng, from), ints({to.begin(), to.end()})}};
}

Case flatten(Rng& rng) {
  const Shape from = random_shape(rng, 1, 4);
  return {{random_tensor(rng, from)}, {{"axis", random_int(rng, -rank_of(from), rank_of(from))}}};
}

// Ones at random places, and the axes they are at.
std::pair<Shape, std::vector<int64_t>> with_ones(Rng& rng, const Shape& shape) {
  Shape result;
  std::vector<int64_t> axes;
  for (int64_t dim : shape) {
    if (coin(rng)) {
      axes.push_back(rank_of(result));
      result.push_back(1);
    }
    result.push_back(dim);
  }
  return {result, axes};
}

Case squeeze_named(Rng& rng) {
  const auto [shape, axes] = with_ones(rng, random_shape(rng, 1, 4));
  return {{random_tensor(rng, shape), ints(axes)}};
}

Case squeeze_all(Rng& rng) {
  return {{random_tensor(rng, with_ones(rng, random_shape(rng, 1, 4)).first)}};
}

Case unsqueeze(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4);
  return {{random_tensor(rng, shape), ints(with_ones(rng, shape).second)}};
}

Case transpose(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4);
  if (coin(rng)) return {{random_tensor(rng, shape)}};
  std::vector<int64_t> perm(shape.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::ranges::shuffle(perm, rng);
  return {{random_tensor(rng, shape)}, {{"perm", perm}}};
}

Case concat(Rng& rng) {
  Shape shape = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, shape);
  Case c{{}, {{"axis", axis}}};
  for (int64_t n = random_int(rng, 1, 4); n > 0; --n) {
    shape[absolute(axis, shape)] = random_int(rng, 0, 3);
    c.inputs.push_back(random_tensor(rng, shape));
  }
  return c;
}

Case split_sizes(Rng& rng) {
  Shape shape = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, shape);
  const std::vector<int64_t> sizes = {random_int(rng, 1, 3), random_int(rng, 0, 3), 2};
  shape[absolute(axis, shape)] = sizes[0] + sizes[1] + sizes[2];
  return {{random_tensor(rng, shape), ints(sizes)}, {{"axis", axis}}, 3};
}

Case split_equal(Rng& rng) {
  Shape shape = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, shape);
  shape[absolute(axis, shape)] = 6;
  return {{random_tensor(rng, shape)}, {{"axis", axis}}, 2};
}

// Bounds on both sides of the tensor, and steps of either sign, along some axes.
Case slice(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4, 9);
  std::vector<int64_t> starts, ends, axes, steps;
  for (int64_t d = 0; d < rank_of(shape); ++d) {
    if (coin(rng)) continue;
    const int64_t n = shape[static_cast<size_t>(d)], step = random_int(rng, 1, 3);
    const bool back = coin(rng);
    axes.push_back(coin(rng) ? d : d - rank_of(shape));
    starts.push_back(back ? random_int(rng, n / 2, n + 2) : random_int(rng, -n - 2, -n / 2));
    ends.push_back(back ? random_int(rng, -2 * n, -n) : random_int(rng, n - 1, 2 * n));
    steps.push_back(back ? -step : step);
  }
  return {{random_tensor(rng, shape), ints(starts), ints(ends), ints(axes), ints(steps)}};
}

Case slice_of_first_axes(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4, 9);
  return {{random_tensor(rng, shape), ints({random_int(rng, 0, shape[0] - 1)}), ints({99})}};
}

std::vector<int64_t> random_pads(Rng& rng, size_t axes) {
  std::vector<int64_t> pads;
  for (size_t i = 0; i < 2 * axes; ++i) pads.push_back(random_int(rng, -1, 3));
  return pads;
}

Case pad_constant(Rng& rng) {
  Shape shape = random_shape(rng, 1, 4);
  for (int64_t& dim : shape) dim += 2;
  Case c{{random_tensor(rng, shape), ints(random_pads(rng, shape.rank()))}};
  if (coin(rng)) c.inputs.push_back(random_tensor(rng, {}));
  return c;
}

Case pad_axes(Rng& rng) {
  Shape shape = random_shape(rng, 2, 4);
  for (int64_t& dim : shape) dim += 2;
  return {{random_tensor(rng, shape), ints(random_pads(rng, 2)), Tensor(), ints({-1, 0})}};
}

Case pad_repeating(Rng& rng) {
  Case c = pad_constant(rng);
  const std::array modes = {"reflect", "edge", "wrap"};
  c.attributes["mode"] = std::string(modes[static_cast<size_t>(random_int(rng, 0, 2))]);
  if (coin(rng)) {  // an axis without pads can be cut
    auto pads = c.inputs[1].data<int64_t>();
    pads[0] = pads[pads.size() / 2] = 0;
  }
  return c;
}

Case tile(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4, 3);
  return {
      {random_tensor(rng, shape), ints(dims_of(random_shape(rng, shape.rank(), shape.rank())))}};
}

Case expand(Rng& rng) {
  Shape to = random_shape(rng, 0, 4), from;
  for (auto d = static_cast<size_t>(random_int(rng, 0, rank_of(to))); d < to.rank(); ++d) {
    from.push_back(coin(rng) ? to[d] : 1);
    if (coin(rng) && from[from.rank() - 1] == to[d]) to[d] = 1;  // the input may be the larger
  }
  return {{random_tensor(rng, from), ints(dims_of(to))}};
}

Case constant_of_shape(Rng& rng) {
  return {{ints(dims_of(random_shape(rng, 0, 4)))}, {{"value", random_tensor(rng, {1})}}};
}

// Of any tensor, from some axis on.
Case shape(Rng& rng) {
  Case c{{random_tensor(rng, random_shape(rng, 0, 4))}};
  if (coin(rng)) c.attributes["start"] = random_int(rng, -2, 2);
  return c;
}

Case size(Rng& rng) { return {{random_tensor(rng, random_shape(rng, 0, 4))}}; }

Case range(Rng& rng) {
  const int64_t delta = coin(rng) ? random_int(rng, 1, 4) : random_int(rng, -4, -1);
  auto scalar = [](int64_t x) { return Tensor::of<int64_t>({}, {x}); };
  return {{scalar(random_int(rng, -9, 9)), scalar(random_int(rng, -9, 9)), scalar(delta)}};
}

Case non_zero(Rng& rng) {
  Case c{{random_tensor(rng, random_shape(rng, 1, 4))}};
  for (float& x : c.inputs[0].data<float>()) x = coin(rng) ? 0 : x;
  return c;
}

Case depth_to_space(Rng& rng) {
  const int64_t block = random_int(rng, 1, 3);
  Shape shape = random_shape(rng, 4, 4, 4);
  shape[1] *= block * block;
  const std::string mode = coin(rng) ? "DCR" : "CRD";
  return {{random_tensor(rng, shape)}, {{"blocksize", block}, {"mode", mode}}};
}

Case space_to_depth(Rng& rng) {
  const int64_t block = random_int(rng, 1, 3);
  Shape shape = random_shape(rng, 4, 4, 4);
  shape[2] *= block;
  shape[3] *= block;
  return {{random_tensor(rng, shape)}, {{"blocksize", block}}};
}

Case reverse_sequence(Rng& rng) {
  const Shape shape = random_shape(rng, 2, 4);
  const int64_t batch = random_int(rng, 0, 1), time = 1 - batch;
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < shape[static_cast<size_t>(batch)]; ++b) {
    lengths.push_back(random_int(rng, 0, shape[static_cast<size_t>(time)]));
  }
  return {{random_tensor(rng, shape), ints(lengths)}, {{"batch_axis", batch}, {"time_axis", time}}};
}

}  // namespace

std::vector<Source> movement_cases() {
  return {{&ops::reshape, reshape},
          {&ops::reshape, reshape_factors},
          {&ops::flatten, flatten},
          {&ops::squeeze, squeeze_named},
          {&ops::squeeze, squeeze_all},
          {&ops::unsqueeze, unsqueeze},
          {&ops::transpose, transpose},
          {&ops::concat, concat},
          {&ops::split_, split_sizes},
          {&ops::split_, split_equal},
          {&ops::slice, slice},
          {&ops::slice, slice_of_first_axes},
          {&ops::pad_, pad_constant},
          {&ops::pad_, pad_axes},
          {&ops::pad_, pad_repeating},
          {&ops::tile_, tile},
          {&ops::expand, expand},
          {&ops::constant_of_shape, constant_of_shape},
          {&ops::depth_to_space, depth_to_space},
          {&ops::space_to_depth, space_to_depth},
          {&ops::non_zero, non_zero},
          {&ops::range_, range},
          {&ops::reverse_sequence, reverse_sequence},
          {&ops::shape_, shape},
          {&ops::size_, size}};
}

}  // namespace shoal::laws
