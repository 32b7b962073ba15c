// GatherElements: y has the shape of the indices. For axis 1,
// y[i, j, k] = data[i, indices[i, j, k], k]
// Gradient: ScatterElements with reduction "add".
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_gather_elements(const Node& node,
                                                      std::span<const Operand> inputs) {
  const Shape &data = inputs[0].type.shape, &indices = inputs[1].type.shape;
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", 0), data.rank()));
  SHOAL_TRY(require_rank(inputs[1], data.rank()));
  SHOAL_TRY(require_indices(inputs[1], std::array{data[axis]}));
  // The indices may be smaller than the data along the other axes, but not larger.
  for (size_t d = 0; d < data.rank(); ++d) {
    if (d != axis && indices[d] > data[d]) {
      return invalid("indices of shape " + to_string(indices) + " reach outside " +
                     to_string(data));
    }
  }
  return std::vector{TensorType{inputs[0].type.dtype, indices}};
}

void reference_gather_elements(const Node& node, std::span<const Tensor> inputs,
                               std::span<Tensor> outputs) {
  const Shape &data = inputs[0].shape(), &shape = outputs[0].shape();
  const size_t axis = axis_in(node.integer("axis", 0), data.rank());
  Strides strides = strides_of(data);
  const int64_t length = data[axis], along = strides[axis];
  // The index replaces the position along the axis.
  strides[axis] = 0;
  const std::byte* from = inputs[0].bytes().data();
  std::byte* to = outputs[0].bytes().data();
  visit<Indices>(inputs[1].dtype(), [&]<class I>() {
    const I* indices = inputs[1].data<I>().data();
    visit_size(size_of(inputs[0].dtype()), [&](auto bytes) {
      constexpr auto kSize = static_cast<int64_t>(bytes());
      for_each_run(shape, std::array{strides_of(shape), strides},
                   [&](auto at, auto step, int64_t n) {
                     for (int64_t k = 0; k < n; ++k) {
                       const int64_t index = index_in(indices[at[0] + k], length);
                       std::memcpy(to + (at[0] + k) * kSize,
                                   from + (at[1] + k * step[1] + index * along) * kSize, kSize);
                     }
                   });
    });
  });
}

// Cut along the other axes only, as in Gather.
std::optional<Tile> split_gather_elements(const Node& node, std::span<const Operand> inputs,
                                          const Region& output) {
  Region data = output;
  const size_t axis = axis_in(node.integer("axis", 0), output.begin.rank());
  data.begin[axis] = 0;
  data.end[axis] = inputs[0].type.shape[axis];
  return Tile{{data, output}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(gather_elements) = {.name = "GatherElements",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = infer_gather_elements,
                                 .reference = reference_gather_elements,
                                 .split = split_gather_elements,
                                 .linear = true,
                                 .linear_time = true,
                                 .gradient = gather_elements_gradient};

}  // namespace shoal::ops
