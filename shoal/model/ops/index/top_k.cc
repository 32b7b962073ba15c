// TopK: the k largest or smallest elements of each line along `axis`, sorted, and their positions.
// NaN counts as larger than any number. ONNX allows any order with sorted = 0; sorted is one of
// them. The gradient goes to the chosen elements: gradient_scatter.cc.
#include <algorithm>
#include <numeric>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

size_t axis_of(const Node& node, const Shape& shape) {
  return axis_in(node.integer("axis", -1), shape.rank());
}

Result<std::vector<TensorType>> infer_top_k(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Numbers>(inputs[0]));
  TensorType type = inputs[0].type;
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", -1), type.shape.rank()));
  SHOAL_TRY(require_single(inputs[1]));
  SHOAL_ASSIGN(std::vector<int64_t> k, require_list(inputs[1]));
  if (k[0] < 0 || k[0] > type.shape[axis]) {
    return invalid("k is " + std::to_string(k[0]) + " on an axis of " +
                   std::to_string(type.shape[axis]) + " elements");
  }
  type.shape[axis] = k[0];
  std::vector types = {type, TensorType{DType::kI64, type.shape}};
  types.resize(node.outputs.size());
  return types;
}

// Sorts the first k of `order`, which receives the positions of a line. Equal elements stand in the
// order of their positions, as ONNX asks, which also makes the result unique.
template <class T>
void rank_line(const T* line, int64_t step, bool largest, size_t k, std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), 0);
  auto before = [&](int64_t i, int64_t j) {
    const T a = line[i * step], b = line[j * step];
    if (largest ? sorts_before(b, a) : sorts_before(a, b)) return true;
    if (largest ? sorts_before(a, b) : sorts_before(b, a)) return false;
    return i < j;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(k), order.end(), before);
}

void reference_top_k(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const Shape& shape = inputs[0].shape();  // [outer, n, inner]
  const size_t axis = axis_of(node, shape);
  const int64_t n = shape[axis], k = outputs[0].shape()[axis];
  const int64_t outer = shape.count(0, axis), inner = shape.count(axis + 1, shape.rank());
  const bool largest = node.integer("largest", 1) != 0;
  std::vector<int64_t> order(static_cast<size_t>(n));
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0].data<T>().data();
    T* values = outputs[0].data<T>().data();
    int64_t* indices = outputs.size() > 1 ? outputs[1].data<int64_t>().data() : nullptr;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const T* line = x + o * n * inner + i;
        rank_line(line, inner, largest, static_cast<size_t>(k), order);
        for (int64_t j = 0; j < k; ++j) {
          const int64_t to = (o * k + j) * inner + i, from = order[static_cast<size_t>(j)];
          values[to] = line[from * inner];
          if (indices != nullptr) indices[to] = from;
        }
      }
    }
  });
}

// Ranking needs the whole line along the axis.
std::optional<Tile> split_top_k(const Node& node, std::span<const Operand> inputs,
                                const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_of(node, shape);
  Region read = output, written = output;
  read.begin[axis] = written.begin[axis] = 0;
  read.end[axis] = shape[axis];
  written.end[axis] = to_ints(*inputs[1].value)[0];
  return Tile{{read, Region::whole(inputs[1].type.shape)}, written, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(top_k) = {.name = "TopK",
                       .min_inputs = 2,
                       .max_inputs = 2,
                       .max_outputs = 2,
                       .value_inputs = 1 << 1,
                       .infer = infer_top_k,
                       .reference = reference_top_k,
                       .split = split_top_k,
                       .gradient = top_k_gradient};

}  // namespace shoal::ops
