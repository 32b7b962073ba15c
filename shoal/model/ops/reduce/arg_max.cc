// ArgMax and ArgMin: the position of the largest or smallest element along an axis. Ties go to the
// first element, or with select_last_index to the last. A NaN wins over every number. The result is
// an integer and has no gradient.
#include <functional>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

size_t axis_of(const Node& node, const Shape& shape) {
  return axis_in(node.integer("axis", 0), shape.rank());
}

bool keeps_dims(const Node& node) { return node.integer("keepdims", 1) != 0; }

Result<std::vector<TensorType>> infer_arg_max(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Numbers>(inputs[0]));
  const Shape& x = inputs[0].type.shape;
  SHOAL_ASSIGN(const size_t axis, require_axis(node.integer("axis", 0), x.rank()));
  if (x[axis] == 0) return invalid("there is no element to choose along an axis of length 0");
  Shape shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (d != axis) {
      shape.push_back(x[d]);
    } else if (keeps_dims(node)) {
      shape.push_back(1);
    }
  }
  return std::vector{TensorType{DType::kI64, shape}};
}

template <class Better, class T>
int64_t best_of(const T* x, int64_t n, int64_t step, bool last) {
  int64_t best = 0;
  auto top = static_cast<Compute<T>>(*x);
  for (int64_t k = 1; k < n; ++k) {
    const auto element = static_cast<Compute<T>>(x[k * step]);
    const bool is_nan = is_nan_element(element), was_nan = is_nan_element(top);
    const bool wins = Better{}(element, top) || (is_nan && !was_nan);
    const bool ties = element == top || (is_nan && was_nan);
    if (wins || (last && ties)) {
      best = k;
      top = element;
    }
  }
  return best;
}

template <class Better>
void reference_arg_max(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();  // [outer, n, inner]
  const size_t axis = axis_of(node, shape);
  const int64_t n = shape[axis];
  const int64_t outer = shape.count(0, axis), inner = shape.count(axis + 1, shape.rank());
  const bool last = node.integer("select_last_index", 0) != 0;
  int64_t* y = outputs[0].data<int64_t>().data();
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0].data<T>().data();
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        *y++ = best_of<Better>(x + o * n * inner + i, n, inner, last);
      }
    }
  });
}

// The reduced axis stays whole.
std::optional<Tile> split_arg_max(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_of(node, shape);
  Region box = Region::whole(shape);
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (d == axis) continue;
    const size_t out = d > axis && !keeps_dims(node) ? d - 1 : d;
    box.begin[d] = output.begin[out];
    box.end[d] = output.end[out];
  }
  return Tile{{box}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(arg_max) = {.name = "ArgMax",
                         .infer = infer_arg_max,
                         .reference = reference_arg_max<std::greater<>>,
                         .split = split_arg_max,
                         .linear_time = true};

SHOAL_RECORD(arg_min) = {.name = "ArgMin",
                         .infer = infer_arg_max,
                         .reference = reference_arg_max<std::less<>>,
                         .split = split_arg_max,
                         .linear_time = true};

}  // namespace shoal::ops
