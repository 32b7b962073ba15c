#include <algorithm>
#include <numeric>

#include "laws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

int64_t rank_of(const Shape& shape) { return static_cast<int64_t>(shape.rank()); }

int64_t random_axis(Rng& rng, const Shape& shape) {
  return random_int(rng, -rank_of(shape), rank_of(shape) - 1);
}

size_t absolute(int64_t axis, const Shape& shape) {
  return static_cast<size_t>(axis < 0 ? axis + rank_of(shape) : axis);
}

// Element k is an index into sizes[k % sizes.size()], from either end.
Tensor random_indices(Rng& rng, const Shape& shape, std::span<const int64_t> sizes) {
  Tensor indices({DType::kI64, shape});
  size_t k = 0;
  for (int64_t& index : indices.data<int64_t>()) {
    const int64_t size = sizes[k++ % sizes.size()];
    index = random_int(rng, -size, size - 1);
  }
  return indices;
}

Case gather(Rng& rng) {
  const Shape data = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, data);
  return {{random_tensor(rng, data),
           random_indices(rng, random_shape(rng, 0, 3), std::array{data[absolute(axis, data)]})},
          {{"axis", axis}}};
}

// Indices of a shape that lies inside the data, except along the axis.
std::pair<Tensor, int64_t> element_indices(Rng& rng, const Shape& data) {
  const int64_t axis = random_axis(rng, data);
  Shape shape;
  for (int64_t dim : data) shape.push_back(random_int(rng, 1, dim));
  const int64_t length = data[absolute(axis, data)];
  shape[absolute(axis, data)] = random_int(rng, 1, 5);
  return {random_indices(rng, shape, std::array{length}), axis};
}

Case gather_elements(Rng& rng) {
  const Shape data = random_shape(rng, 1, 4);
  const auto [indices, axis] = element_indices(rng, data);
  return {{random_tensor(rng, data), indices}, {{"axis", axis}}};
}

std::string random_reduction(Rng& rng) {
  const std::array names = {"none", "add", "mul", "max", "min"};
  return names[static_cast<size_t>(random_int(rng, 0, 4))];
}

Case scatter_elements(Rng& rng) {
  const Shape data = random_shape(rng, 1, 4);
  const auto [indices, axis] = element_indices(rng, data);
  return {{random_tensor(rng, data), indices, random_tensor(rng, indices.shape())},
          {{"axis", axis}, {"reduction", random_reduction(rng)}}};
}

Case gather_nd(Rng& rng) {
  const Shape data = random_shape(rng, 2, 5, 4);
  const int64_t batch = random_int(rng, 0, 1);
  const int64_t tuple = random_int(rng, 1, rank_of(data) - batch);
  Shape shape;
  if (batch == 1) shape.push_back(data[0]);
  for (int64_t n = random_int(rng, 0, 2); n > 0; --n) shape.push_back(random_int(rng, 1, 4));
  shape.push_back(tuple);
  const auto indexed =
      std::span(data).subspan(static_cast<size_t>(batch), static_cast<size_t>(tuple));
  return {{random_tensor(rng, data), random_indices(rng, shape, indexed)}, {{"batch_dims", batch}}};
}

Case scatter_nd(Rng& rng) {
  const Shape data = random_shape(rng, 1, 4);
  const int64_t tuple = random_int(rng, 1, rank_of(data));
  Shape shape = random_shape(rng, 0, 2), updates = shape;
  shape.push_back(tuple);
  const auto indexed = static_cast<size_t>(tuple);
  for (size_t d = indexed; d < data.rank(); ++d) updates.push_back(data[d]);
  return {{random_tensor(rng, data), random_indices(rng, shape, std::span(data).first(indexed)),
           random_tensor(rng, updates)},
          {{"reduction", random_reduction(rng)}}};
}

Case one_hot(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 3);
  const int64_t depth = random_int(rng, 1, 6);
  return {{random_indices(rng, shape, std::array{depth + 1}), ints({depth}),
           Tensor::of<float>({2}, {-1.0f, 2.0f})},
          {{"axis", random_int(rng, -rank_of(shape) - 1, rank_of(shape))}}};
}

Case top_k(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, shape);
  Tensor x = random_tensor(rng, shape);
  for (float& value : x.data<float>()) value = std::round(value * 3);  // so that some are equal
  return {{x, ints({random_int(rng, 1, shape[absolute(axis, shape)])})},
          {{"axis", axis}, {"largest", random_int(rng, 0, 1)}},
          2};
}

Case compress(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4);
  const int64_t axis = random_axis(rng, shape);
  Tensor condition({DType::kBool, {random_int(rng, 0, shape[absolute(axis, shape)])}});
  for (bool& take : condition.data<bool>()) take = random_int(rng, 0, 1) != 0;
  return {{random_tensor(rng, shape), condition}, {{"axis", axis}}};
}

}  // namespace

std::vector<Source> indexing_cases() {
  return {{&ops::gather, gather},         {&ops::gather_elements, gather_elements},
          {&ops::gather_nd, gather_nd},   {&ops::scatter_elements, scatter_elements},
          {&ops::scatter_nd, scatter_nd}, {&ops::one_hot, one_hot},
          {&ops::top_k, top_k},           {&ops::compress, compress}};
}

}  // namespace shoal::laws
