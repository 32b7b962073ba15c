// MaxUnpool: puts each element of x at the place that MaxPool's Indices name; all other elements
// are zero. Indices out of range are dropped. No split: an index may name any place.
#include <algorithm>

#include "shoal/base/checked.h"
#include "shoal/base/limits.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"
#include "shoal/model/ops/window.h"

namespace shoal::ops {
namespace {

// The input shape of the MaxPool that is undone, as far as the attributes tell. The indices count
// in this shape, even if the output is asked to have another.
Result<Shape> require_pooled(const Node& node, const Shape& x) {
  SHOAL_TRY(require_spatial(x));
  const size_t rank = x.rank() - 2;
  if (!node.has("kernel_shape")) return invalid("kernel_shape is missing");
  SHOAL_ASSIGN(const auto kernel, require_list(node, "kernel_shape", rank, 1, 1));
  SHOAL_ASSIGN(const auto strides, require_list(node, "strides", rank, 1, 1));
  SHOAL_ASSIGN(const auto pads, require_list(node, "pads", 2 * rank, 0, 0));
  Shape shape = x;
  for (size_t d = 0; d < rank; ++d) {
    // Each factor comes from a file. check() below refuses the sizes that are too large together.
    const Checked size =
        (Checked(x[d + 2]) - 1) * strides[d] + kernel[d] - pads[d] - pads[rank + d];
    if (!size.ok() || size.value() < 0) return invalid("pads are larger than the output");
    shape[d + 2] = size.value();
  }
  SHOAL_TRY(check(TensorType{DType::kI64, shape}));
  return shape;
}

Result<Shape> require_output_shape(const Operand& operand, const Shape& pooled) {
  SHOAL_ASSIGN(const std::vector<int64_t> dims, require_ints(operand));
  if (dims.size() != pooled.rank() || dims[0] != pooled[0] || dims[1] != pooled[1]) {
    return invalid("output_shape does not fit the input's batch and channels");
  }
  return Shape(dims);
}

Result<std::vector<TensorType>> infer_max_unpool(const Node& node,
                                                 std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require<Types<int64_t>>(inputs[1]));
  if (inputs[1].type.shape != inputs[0].type.shape) {
    return invalid("indices have another shape than the input");
  }
  SHOAL_ASSIGN(Shape shape, require_pooled(node, inputs[0].type.shape));
  if (inputs.size() > 2 && inputs[2].given) {
    SHOAL_ASSIGN(shape, require_output_shape(inputs[2], shape));
  }
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// The offset in `to` of the element at `index` of `from`; -1 if it lies outside of either.
int64_t move_index(int64_t index, const Shape& from, const Shape& to) {
  if (index < 0 || index >= from.count()) return -1;
  const Strides strides = strides_of(to);
  int64_t offset = 0;
  for (size_t d = from.rank(); d-- > 0;) {
    const int64_t at = index % from[d];
    if (at >= to[d]) return -1;
    offset += at * strides[d];
    index /= from[d];
  }
  return offset;
}

void reference_max_unpool(const Node& node, std::span<const Tensor> inputs,
                          std::span<Tensor> outputs) {
  auto pooled = require_pooled(node, inputs[0].shape());
  SHOAL_CHECK(pooled.ok());
  std::ranges::fill(outputs[0].bytes(), std::byte{0});
  const std::span<const int64_t> indices = inputs[1].data<int64_t>();
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t at = move_index(indices[i], *pooled, outputs[0].shape());
      if (at >= 0) outputs[0].data<T>()[static_cast<size_t>(at)] = inputs[0].data<T>()[i];
    }
  });
}

}  // namespace

SHOAL_RECORD(max_unpool) = {.name = "MaxUnpool",
                            .min_inputs = 2,
                            .max_inputs = 3,
                            .value_inputs = 1u << 2,
                            .infer = infer_max_unpool,
                            .reference = reference_max_unpool};

}  // namespace shoal::ops
