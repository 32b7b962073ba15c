// ScatterElements: a copy of the data with some elements updated. For axis 1,
// y[i, indices[i, j, k], k] = reduce(y[i, indices[i, j, k], k], updates[i, j, k])
// Updates are applied in row-major order, so with reduction "none" the last one to a place wins;
// ONNX leaves that open. The gradient is in gradient_scatter.cc.
#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_scatter_elements(const Node& node,
                                                       std::span<const Operand> inputs) {
  const TensorType& data = inputs[0].type;
  const Shape& indices = inputs[1].type.shape;
  SHOAL_TRY(combine_of(node, data.dtype).status());
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", 0), data.shape.rank()));
  SHOAL_TRY(require_rank(inputs[1], data.shape.rank()));
  SHOAL_TRY(require_indices(inputs[1], std::array{data.shape[axis]}));
  if (inputs[2].type != TensorType{data.dtype, indices}) {
    return invalid("updates " + to_string(inputs[2].type) + " do not match indices of shape " +
                   to_string(indices));
  }
  for (size_t d = 0; d < indices.rank(); ++d) {
    if (d != axis && indices[d] > data.shape[d]) {
      return invalid("indices of shape " + to_string(indices) + " reach outside " +
                     to_string(data.shape));
    }
  }
  return std::vector{data};
}

void reference_scatter_elements(const Node& node, std::span<const Tensor> inputs,
                                std::span<Tensor> outputs) {
  copy_all(inputs[0], outputs[0]);
  const Shape &data = inputs[0].shape(), &shape = inputs[1].shape();
  const size_t axis = axis_in(node.integer("axis", 0), data.rank());
  const Combine combine = *combine_of(node, inputs[0].dtype());
  const auto size = static_cast<int64_t>(size_of(inputs[0].dtype()));
  Strides strides = strides_of(data);
  const int64_t length = data[axis], along = strides[axis];
  strides[axis] = 0;
  const std::byte* updates = inputs[2].bytes().data();
  std::byte* y = outputs[0].bytes().data();
  visit<Indices>(inputs[1].dtype(), [&]<class I>() {
    const I* indices = inputs[1].data<I>().data();
    for_each_run(shape, std::array{strides_of(shape), strides}, [&](auto at, auto step, int64_t n) {
      for (int64_t k = 0; k < n; ++k) {
        const int64_t to = at[1] + k * step[1] + index_in(indices[at[0] + k], length) * along;
        combine(y + to * size, updates + (at[0] + k) * size, 1);
      }
    });
  });
}

// Whole along the axis. Along the others the updates lie where the data do, except beyond their
// end.
std::optional<Tile> split_scatter_elements(const Node& node, std::span<const Operand> inputs,
                                           const Region& output) {
  const size_t axis = axis_in(node.integer("axis", 0), output.begin.rank());
  Region written = output, updates = Region::whole(inputs[1].type.shape);
  written.begin[axis] = 0;
  written.end[axis] = inputs[0].type.shape[axis];
  for (size_t d = 0; d < output.begin.rank(); ++d) {
    if (d == axis) continue;
    updates.begin[d] = std::min(output.begin[d], updates.end[d]);
    updates.end[d] = std::min(output.end[d], updates.end[d]);
  }
  return Tile{{written, updates, updates}, written, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(scatter_elements) = {.name = "ScatterElements",
                                  .min_inputs = 3,
                                  .max_inputs = 3,
                                  .infer = infer_scatter_elements,
                                  .reference = reference_scatter_elements,
                                  .split = split_scatter_elements,
                                  .in_place = true,
                                  .linear_time = true,
                                  .gradient = scatter_elements_gradient};

}  // namespace shoal::ops
