// Gradients of pools, as operators of our own. AveragePoolBackward: dx_i = sum of dy_o / n_o over
// the windows o that hold i, n_o the number of elements that count there. MaxPoolBackward: dy_o
// goes to the element that window o took, the first of equal ones. Attributes are those of the
// pool.
#include <algorithm>
#include <optional>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/pool/pool.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Ints = std::vector<int64_t>;
using Expansion = Result<std::vector<ValueId>>;

// Checks that dy has the type of the pool of x. The result has the type of x.
Result<std::vector<TensorType>> infer_image(const Node& node, const Shape& x,
                                            const TensorType& dy) {
  SHOAL_ASSIGN(const Window window, require_window(node, x));
  if (dy.shape != window.output_shape(x[0], x[1])) {
    return invalid("the output has shape " + to_string(dy.shape) + ", should have " +
                   to_string(window.output_shape(x[0], x[1])));
  }
  return std::vector{TensorType{dy.dtype, x}};
}

// Inputs are x and dy.
Result<std::vector<TensorType>> infer_max(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  return infer_image(node, inputs[0].type.shape, inputs[1].type);
}

template <class T>
void give_to_largest(const Window& window, const Tensor& x, const Tensor& dy, Tensor& dx) {
  const T* from = x.data<T>().data();
  std::vector<Compute<T>> sums(dx.data<T>().size());
  for_each_output(window, x.shape(), [&](int64_t plane, int64_t out, const Position& o) {
    using C = Compute<T>;
    C best = 0;
    int64_t where = -1;
    for_each_tap(window, o, [&](int64_t at) {
      const auto value = static_cast<C>(from[plane + at]);
      if (where >= 0 && !is_larger(value, best)) return;
      best = value;
      where = at;
    });
    if (where < 0) return;  // padding only
    sums[static_cast<size_t>(plane + where)] +=
        static_cast<C>(dy.data<T>()[static_cast<size_t>(out)]);
  });
  std::ranges::transform(sums, dx.data<T>().begin(), [](auto sum) { return static_cast<T>(sum); });
}

void reference_max(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Window window = window_of(node, inputs[0].shape());
  visit<Floats>(inputs[0].dtype(),
                [&]<class T>() { give_to_largest<T>(window, inputs[0], inputs[1], outputs[0]); });
}

// Whether each window holds an element, and not only padding: [1, 1, spatial...]. nullopt if all
// do.
std::optional<Tensor> windows_with_elements(const Window& window) {
  Tensor sees({DType::kBool, window.output_shape(1, 1)});
  Shape plane{1, 1};
  for (const WindowAxis& axis : window.spatial()) plane.push_back(axis.input);
  for_each_output(window, plane, [&](int64_t, int64_t out, const Position& o) {
    bool any = true;
    for (size_t d = 0; d < o.size(); ++d) any = any && window.axes[d].taps(o[d]).count() > 0;
    sees.data<bool>()[static_cast<size_t>(out)] = any;
  });
  if (std::ranges::count(sees.data<bool>(), false) == 0) return std::nullopt;
  return sees;
}

// The pool is computed once more, with indices, which say which elements it took.
Expansion expand_max(const Node& node, std::span<const ValueId> inputs, Graph& graph) {
  Chain chain(graph, inputs[0]);
  const Shape x = chain.shape_of(inputs[0]);
  const Shape all{chain.shape_of(inputs[1]).count()};
  Attributes by_rows = node.attributes;
  by_rows["storage_order"] = int64_t{0};
  const std::vector<ValueId> pool = chain.add_all(max_pool, {inputs[0]}, std::move(by_rows), 2);
  // A window of padding only has no place to give dy to.
  const std::optional<Tensor> sees = windows_with_elements(window_of(node, x));
  const ValueId dy = sees ? chain.only_where(chain.constant(*sees), inputs[1]) : inputs[1];
  const ValueId total =
      chain.add(scatter_elements,
                {chain.zeros({x.count()}), chain.reshape(pool[1], all), chain.reshape(dy, all)},
                {{"reduction", std::string("add")}});
  return chain.finish({chain.reshape(total, x)});
}

// The shape of x. The only input is dy; the attribute `image` has the sizes of the spatial axes of
// x.
Result<Shape> require_averaged(const Node& node, const Shape& dy) {
  SHOAL_TRY(require_spatial(dy));
  Shape x{dy[0], dy[1]};
  SHOAL_ASSIGN(const Ints sizes, require_list(node, "image", dy.rank() - 2, 0, 0));
  for (int64_t size : sizes) x.push_back(size);
  return x;
}

Result<std::vector<TensorType>> infer_average(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_ASSIGN(const Shape x, require_averaged(node, inputs[0].type.shape));
  return infer_image(node, x, inputs[0].type);
}

// The weight of each element in the average `o`; 0 where none counts.
double share_of(const Window& window, const Position& o, bool count_padding) {
  double count = 1;
  for (size_t d = 0; d < o.size(); ++d) {
    const WindowAxis& axis = window.axes[d];
    count *= static_cast<double>(count_padding ? axis.padded_taps(o[d]) : axis.taps(o[d]).count());
  }
  return count == 0 ? 0 : 1 / count;
}

bool counts_padding(const Node& node) { return node.integer("count_include_pad", 0) != 0; }

void reference_average(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const Shape& x = outputs[0].shape();
  const Window window = window_of(node, x);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    std::vector<Compute<T>> sums(outputs[0].data<T>().size());
    for_each_output(window, x, [&](int64_t plane, int64_t out, const Position& o) {
      const auto share = static_cast<Compute<T>>(inputs[0].data<T>()[static_cast<size_t>(out)]) *
                         static_cast<Compute<T>>(share_of(window, o, counts_padding(node)));
      for_each_tap(window, o, [&](int64_t at) { sums[static_cast<size_t>(plane + at)] += share; });
    });
    std::ranges::transform(sums, outputs[0].data<T>().begin(),
                           [](auto sum) { return static_cast<T>(sum); });
  });
}

// The weights of every output, [1, 1, spatial...].
Tensor shares(const Window& window, bool count_padding) {
  Tensor share({DType::kF64, window.output_shape(1, 1)});
  Shape one{1, 1};
  for (const WindowAxis& axis : window.spatial()) one.push_back(axis.input);
  for_each_output(window, one, [&](int64_t, int64_t out, const Position& o) {
    share.data<double>()[static_cast<size_t>(out)] = share_of(window, o, count_padding);
  });
  return share;
}

Tensor ones(const Shape& shape) {
  Tensor tensor({DType::kF64, shape});
  std::ranges::fill(tensor.data<double>(), 1);
  return tensor;
}

// A ConvTranspose with a kernel of ones adds dy, weighted, to all elements under each window.
// Channels become images, so one kernel of one channel serves them all.
Expansion expand_average(const Node& node, std::span<const ValueId> inputs, Graph& graph) {
  Chain chain(graph, inputs[0]);
  const DType dtype = graph[inputs[0]].type.dtype;
  SHOAL_ASSIGN(const Shape x, require_averaged(node, chain.shape_of(inputs[0])));
  const Window window = window_of(node, x);
  const ValueId share = chain.constant(converted(shares(window, counts_padding(node)), dtype));
  Shape kernel{1, 1};
  for (const WindowAxis& axis : window.spatial()) kernel.push_back(axis.kernel);
  const ValueId planes =
      chain.reshape(chain.add(mul, {inputs[0], share}), window.output_shape(x[0] * x[1], 1));
  const ValueId spread =
      chain.add(conv_transpose, {planes, chain.constant(converted(ones(kernel), dtype))},
                backwards_attributes(window, 1));
  return chain.finish({chain.reshape(spread, x)});
}

}  // namespace

SHOAL_RECORD(max_pool_backward) = {.name = "MaxPoolBackward",
                                   .min_inputs = 2,
                                   .max_inputs = 2,
                                   .infer = infer_max,
                                   .reference = reference_max,
                                   .expand = expand_max};

SHOAL_RECORD(average_pool_backward) = {.name = "AveragePoolBackward",
                                       .infer = infer_average,
                                       .reference = reference_average,
                                       .linear = true,
                                       .expand = expand_average};

}  // namespace shoal::ops
