// ScatterND: a copy of the data with some slices updated. The last axis of the indices holds
// tuples; each names a slice.
// y[indices[i.., :], k..] = reduce(y[indices[i.., :], k..], updates[i.., k..])
// Updates are applied in order. The gradient is in gradient_scatter.cc.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_scatter_nd(const Node& node,
                                                 std::span<const Operand> inputs) {
  const TensorType& data = inputs[0].type;
  const Shape& indices = inputs[1].type.shape;
  SHOAL_TRY(combine_of(node, data.dtype).status());
  if (data.shape.rank() == 0 || indices.rank() == 0) return invalid("takes no scalars");
  const int64_t tuple = indices[indices.rank() - 1];
  if (tuple < 1 || tuple > static_cast<int64_t>(data.shape.rank())) {
    return invalid("index tuples of " + std::to_string(tuple) + " do not fit data " +
                   to_string(data.shape));
  }
  const auto sliced = static_cast<size_t>(tuple);
  SHOAL_TRY(require_indices(inputs[1], std::span(data.shape).first(sliced)));
  std::vector<int64_t> shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.shape.begin() + sliced, data.shape.end());
  const TensorType& updates = inputs[2].type;
  if (updates.dtype != data.dtype || !std::ranges::equal(updates.shape, shape)) {
    return invalid("updates " + to_string(updates) + " do not match data " + to_string(data) +
                   " and indices of shape " + to_string(indices));
  }
  return std::vector{data};
}

void reference_scatter_nd(const Node& node, std::span<const Tensor> inputs,
                          std::span<Tensor> outputs) {
  copy_all(inputs[0], outputs[0]);
  if (inputs[2].count() == 0) return;
  const Shape &data = inputs[0].shape(), &shape = inputs[1].shape();
  const auto tuple = static_cast<size_t>(shape[shape.rank() - 1]);
  const Combine combine = *combine_of(node, inputs[0].dtype());
  const auto size = static_cast<int64_t>(size_of(inputs[0].dtype()));
  const Strides strides = strides_of(data);
  const int64_t n = data.count(tuple, data.rank());
  const std::vector<int64_t> indices = to_ints(inputs[1]);
  const std::byte* updates = inputs[2].bytes().data();
  for (size_t k = 0; k < indices.size(); k += tuple, updates += n * size) {
    int64_t at = 0;
    for (size_t d = 0; d < tuple; ++d) at += index_in(indices[k + d], data[d]) * strides[d];
    combine(outputs[0].bytes().data() + at * size, updates, n);
  }
}

// Whole along the axes that the tuples index, since any tuple may name any of their positions.
std::optional<Tile> split_scatter_nd(const Node& node, std::span<const Operand> inputs,
                                     const Region& output) {
  const Shape& indices = inputs[1].type.shape;
  const auto tuple = static_cast<size_t>(indices[indices.rank() - 1]);
  Region written = Region::whole(inputs[0].type.shape);
  Region updates = Region::whole(inputs[2].type.shape);
  for (size_t d = tuple; d < output.begin.rank(); ++d) {
    const size_t at = d - tuple + indices.rank() - 1;
    written.begin[d] = updates.begin[at] = output.begin[d];
    written.end[d] = updates.end[at] = output.end[d];
  }
  return Tile{{written, Region::whole(indices), updates}, written, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(scatter_nd) = {.name = "ScatterND",
                            .min_inputs = 3,
                            .max_inputs = 3,
                            .infer = infer_scatter_nd,
                            .reference = reference_scatter_nd,
                            .split = split_scatter_nd,
                            .in_place = true,
                            .linear_time = true,
                            .gradient = scatter_nd_gradient};

}  // namespace shoal::ops
