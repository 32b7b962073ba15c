// GatherND: y[b.., i.., k..] = data[b.., indices[b.., i.., :], k..]. The last axis of the indices
// holds tuples; each names a slice of the data. `batch_dims` leading axes are shared by both.
// Gradient: ScatterND with reduction "add", or a scatter of elements if there are batches.
#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Axes of the data: `batch` shared with the indices, then `tuple` indexed, then those of a slice.
struct Axes {
  size_t batch, tuple;
};

Axes axes_of(const Node& node, const Shape& indices) {
  return {static_cast<size_t>(node.integer("batch_dims", 0)),
          static_cast<size_t>(indices[indices.rank() - 1])};
}

Result<std::vector<TensorType>> infer_gather_nd(const Node& node, std::span<const Operand> inputs) {
  const Shape &data = inputs[0].type.shape, &indices = inputs[1].type.shape;
  const int64_t given = node.integer("batch_dims", 0);
  const size_t least = std::min(data.rank(), indices.rank());
  if (given < 0 || given >= static_cast<int64_t>(least))
    return invalid("batch_dims is out of range");
  const auto [batch, tuple] = axes_of(node, indices);
  if (tuple < 1 || tuple > data.rank() - batch) {
    return invalid("index tuples of " + std::to_string(tuple) + " do not fit data " +
                   to_string(data));
  }
  if (!std::equal(data.begin(), data.begin() + batch, indices.begin())) {
    return invalid("batches of data and indices differ");
  }
  SHOAL_TRY(require_indices(inputs[1], std::span(data).subspan(batch, tuple)));
  if (indices.rank() - 1 + data.rank() - batch - tuple > Shape::kMaxRank) {
    return invalid("more than 8 dimensions");
  }
  Shape shape;
  for (size_t d = 0; d + 1 < indices.rank(); ++d) shape.push_back(indices[d]);
  for (size_t d = batch + tuple; d < data.rank(); ++d) shape.push_back(data[d]);
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

void reference_gather_nd(const Node& node, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const Shape &data = inputs[0].shape(), &shape = inputs[1].shape();
  const auto [batch, tuple] = axes_of(node, shape);
  const int64_t batches = data.count(0, batch);
  const int64_t tuples = shape.count(batch, shape.rank() - 1);  // of one batch
  const Strides strides = strides_of(data);
  const size_t size = size_of(inputs[0].dtype());
  const size_t slice_bytes = static_cast<size_t>(data.count(batch + tuple, data.rank())) * size;
  const size_t batch_bytes = static_cast<size_t>(data.count(batch, data.rank())) * size;
  const std::vector<int64_t> indices = to_ints(inputs[1]);
  const int64_t* index = indices.data();
  const std::byte* from = inputs[0].bytes().data();
  std::byte* to = outputs[0].bytes().data();
  for (int64_t b = 0; b < batches; ++b, from += batch_bytes) {
    for (int64_t t = 0; t < tuples; ++t, to += slice_bytes) {
      int64_t at = 0;
      for (size_t d = batch; d < batch + tuple; ++d) at += index_in(*index++, data[d]) * strides[d];
      std::memcpy(to, from + static_cast<size_t>(at) * size, slice_bytes);
    }
  }
}

// Output axes are [batch, positions, slice]. Batches cut both inputs, positions the indices, and
// slices the data. The indexed axes of the data stay whole.
std::optional<Tile> split_gather_nd(const Node& node, std::span<const Operand> inputs,
                                    const Region& output) {
  Region data = Region::whole(inputs[0].type.shape), indices = Region::whole(inputs[1].type.shape);
  const auto [batch, tuple] = axes_of(node, inputs[1].type.shape);
  const size_t positions = indices.begin.rank() - 1;
  for (size_t d = 0; d < output.begin.rank(); ++d) {
    if (d < positions) {
      indices.begin[d] = output.begin[d];
      indices.end[d] = output.end[d];
    }
    if (d < batch || d >= positions) {
      const size_t at = d < batch ? d : d - positions + batch + tuple;
      data.begin[at] = output.begin[d];
      data.end[at] = output.end[d];
    }
  }
  return Tile{{data, indices}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(gather_nd) = {.name = "GatherND",
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .infer = infer_gather_nd,
                           .reference = reference_gather_nd,
                           .split = split_gather_nd,
                           .linear = true,
                           .linear_time = true,
                           .gradient = gather_nd_gradient};

}  // namespace shoal::ops
