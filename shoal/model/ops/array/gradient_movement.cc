// Gradients of operators that move elements or drop them: dy is moved back the same way, and
// dropped elements get 0.
#include <numeric>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

const Attributes kAddUp{{"reduction", std::string("add")}};

// dx for the first of the node's inputs, no gradient for the others.
Gradients only_first(const Chain& chain, const Node& node, ValueId dx) {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = dx;
  return chain.finish(std::move(gradients));
}

// `pads` as Pad has them: all begins, then all ends; negative ones crop.
ValueId padded(Chain& chain, ValueId x, std::span<const int64_t> pads) {
  return chain.add(pad_, {x, chain.list(pads)});
}

// The inputs for running the node on other data: the first replaced by `data`, integers as they
// are. Integers say where elements go, so they must be constant.
Result<std::vector<Tensor>> with_data(const Node& node, const Graph& graph, const Tensor& data) {
  std::vector<Tensor> inputs{data};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const bool says_where = id != kNoValue && !Floats::contains(graph[id].type.dtype);
    if (says_where && !graph[id].constant) {
      return Status(Code::kUnsupported, std::string(node.op->name) +
                                            " has no gradient where input " + std::to_string(i) +
                                            " is not a constant");
    }
    inputs.push_back(says_where ? *graph[id].constant : Tensor());
  }
  return inputs;
}

// Padding back with the negated pads crops what was added, and puts zeros where elements were
// removed.
Gradients unpadded(Chain& chain, const Node& node, ValueId dy, std::vector<int64_t> pads) {
  for (int64_t& pad : pads) pad = -pad;
  return only_first(chain, node, padded(chain, dy, pads));
}

Tensor numbered(const Shape& shape) {
  Tensor numbers({DType::kI64, shape});
  std::iota(numbers.data<int64_t>().begin(), numbers.data<int64_t>().end(), 0);
  return numbers;
}

}  // namespace

// Gradients pass through casts between floats. A cast from an integer ends them.
Gradients cast_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  if (!Floats::contains(graph[node.inputs[0]].type.dtype)) {
    return std::vector<ValueId>(node.inputs.size(), kNoValue);
  }
  Chain chain(graph, node.inputs[0]);
  return only_first(chain, node, chain.cast(outputs[0]));
}

// Reshape, Flatten, Squeeze, Unsqueeze.
Gradients reshape_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  return only_first(chain, node, chain.reshape(outputs[0], chain.shape_of(node.inputs[0])));
}

Gradients expand_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  return only_first(chain, node, chain.sum_to(outputs[0], chain.shape_of(node.inputs[0])));
}

Gradients transpose_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const std::vector<int64_t> way = node.integers("perm");
  std::vector<int64_t> back(way.size());
  for (size_t d = 0; d < way.size(); ++d)
    back[static_cast<size_t>(way[d])] = static_cast<int64_t>(d);
  Attributes attributes;
  if (!back.empty()) attributes["perm"] = std::move(back);  // else it reverses, and so does this
  return chain.finish({chain.add(transpose, {outputs[0]}, std::move(attributes))});
}

// A triangle is a mask, and a mask is its own gradient.
Gradients trilu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = outputs[0];
  return only_first(chain, node, chain.add(trilu, std::move(inputs), node.attributes));
}

Gradients concat_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const int64_t axis = node.integer("axis", 0);
  std::vector<int64_t> sizes;
  for (ValueId x : node.inputs) {
    const Shape shape = chain.shape_of(x);
    sizes.push_back(shape[axis_in(axis, shape.rank())]);
  }
  return chain.finish(
      chain.add_all(split_, {outputs[0], chain.list(sizes)}, {{"axis", axis}}, node.inputs.size()));
}

Gradients split_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  std::vector<ValueId> parts(outputs.begin(), outputs.end());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == kNoValue) parts[i] = chain.zeros(chain.shape_of(node.outputs[i]));
  }
  const Attributes along{{"axis", node.integer("axis", 0)}};
  return only_first(chain, node, chain.add(concat, std::move(parts), along));
}

// Inverts the movement by running the operator on the indices of the input's elements, which works
// for any operator that only moves elements. Padding gets the index `count`, one past the last,
// which collects its gradient and is cropped.
Gradients permutation_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape shape = chain.shape_of(node.inputs[0]);
  const int64_t count = shape.count(), moved = chain.shape_of(outputs[0]).count();
  SHOAL_ASSIGN(std::vector<Tensor> inputs, with_data(node, graph, numbered(shape)));
  if (node.op == &pad_ && inputs.size() > 2) inputs[2] = Tensor::of<int64_t>({}, {count});
  std::vector<Tensor> from{Tensor({DType::kI64, chain.shape_of(node.outputs[0])})};
  node.op->reference(node, inputs, from);
  const std::vector<ValueId> scatter{chain.zeros({count + 1}),
                                     chain.constant(from[0].reshaped({moved})),
                                     chain.reshape(outputs[0], {moved})};
  const ValueId all = chain.add(scatter_elements, scatter, kAddUp);
  const std::vector<int64_t> last{0, -1};
  return only_first(chain, node, chain.reshape(padded(chain, all, last), shape));
}

namespace {

// Every element of an axis followed by zeros, so that they are `step` apart.
ValueId spaced(Chain& chain, ValueId x, size_t axis, int64_t step) {
  if (step == 1) return x;
  const Shape shape = chain.shape_of(x);
  Shape columns, apart;
  for (size_t d = 0; d < shape.rank(); ++d) {
    columns.push_back(shape[d]);
    apart.push_back(d == axis ? shape[d] * step : shape[d]);
    if (d == axis) columns.push_back(1);
  }
  std::vector<int64_t> pads(2 * columns.rank());
  pads[columns.rank() + axis + 1] = step - 1;
  return chain.reshape(padded(chain, chain.reshape(x, columns), pads), apart);
}

}  // namespace

// Elements are put back by inserting step - 1 zeros behind each and padding both ends. Backward
// slices, and those at the maximum rank, where `spaced` cannot add an axis, are scattered.
Gradients slice_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape shape = chain.shape_of(node.inputs[0]), part = chain.shape_of(outputs[0]);
  SHOAL_ASSIGN(const std::vector<Tensor> inputs, with_data(node, graph, Tensor()));
  const std::vector<int64_t> starts = to_ints(inputs[1]);
  std::vector<int64_t> steps(starts.size(), 1);
  if (inputs.size() > 4 && inputs[4].defined()) steps = to_ints(inputs[4]);
  const bool forward = std::ranges::all_of(steps, [](int64_t s) { return s >= 1; });
  if (!forward || part.count() == 0 || shape.rank() == Shape::kMaxRank) {
    return permutation_gradient(node, outputs, graph);
  }
  ValueId dy = outputs[0];
  std::vector<int64_t> pads(2 * shape.rank());
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        inputs.size() > 3 && inputs[3].defined() ? to_ints(inputs[3])[i] : static_cast<int64_t>(i);
    const size_t d = axis_in(axis, shape.rank());
    pads[d] = starts[i] < 0 ? std::max<int64_t>(starts[i] + shape[d], 0) : starts[i];
    const int64_t step = std::min(steps[i], shape[d]);  // beyond, there is one element
    pads[shape.rank() + d] = shape[d] - part[d] * step - pads[d];
    dy = spaced(chain, dy, d, step);
  }
  return only_first(chain, node, padded(chain, dy, pads));
}

// dx is dy without the border. The constant receives the rest: sum(dy) - sum(dx).
Gradients pad_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  SHOAL_ASSIGN(const std::vector<Tensor> inputs, with_data(node, graph, Tensor()));
  if (node.text("mode", "constant") != "constant") {
    return permutation_gradient(node, outputs, graph);
  }
  SHOAL_ASSIGN(std::vector<ValueId> gradients,
               inputs.size() > 3 && inputs[3].defined()
                   ? permutation_gradient(node, outputs, graph)
                   : unpadded(chain, node, outputs[0], to_ints(inputs[1])));
  if (inputs.size() > 2 && node.inputs[2] != kNoValue) {
    const ValueId all = chain.sum_to(outputs[0], {}), inside = chain.sum_to(gradients[0], {});
    const ValueId rest = chain.add(sub, {all, inside});
    gradients[2] = chain.reshape(rest, chain.shape_of(node.inputs[2]));
  }
  return chain.finish(std::move(gradients));
}

// A ScatterND that adds. It indexes leading axes only, so `axis` is moved to the front and back
// again.
Gradients gather_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape data = chain.shape_of(node.inputs[0]), indices = chain.shape_of(node.inputs[1]);
  const size_t axis = axis_in(node.integer("axis", 0), data.rank());
  std::vector<int64_t> order, back;  // of dy: indices, before the axis, after it
  for (size_t d = 0; d < indices.rank(); ++d) order.push_back(static_cast<int64_t>(axis + d));
  for (size_t d = 0; d < axis; ++d) order.push_back(static_cast<int64_t>(d));
  for (size_t d = axis + 1; d < data.rank(); ++d) {
    order.push_back(static_cast<int64_t>(d - 1 + indices.rank()));
  }
  Shape front{data[axis]}, tuples = indices;
  for (size_t d = 0; d < data.rank(); ++d) {
    if (d != axis) front.push_back(data[d]);
    back.push_back(static_cast<int64_t>(d < axis ? d + 1 : d == axis ? 0 : d));
  }
  tuples.push_back(1);
  const std::vector<ValueId> scatter{chain.zeros(front), chain.reshape(node.inputs[1], tuples),
                                     chain.transpose(outputs[0], std::move(order))};
  const ValueId total = chain.add(scatter_nd, scatter, kAddUp);
  return only_first(chain, node, chain.transpose(total, std::move(back)));
}

Gradients gather_elements_gradient(const Node& node, std::span<const ValueId> outputs,
                                   Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  Attributes attributes = kAddUp;
  attributes["axis"] = node.integer("axis", 0);
  const ValueId zeros = chain.zeros(chain.shape_of(node.inputs[0]));
  return only_first(
      chain, node,
      chain.add(scatter_elements, {zeros, node.inputs[1], outputs[0]}, std::move(attributes)));
}

// ScatterND has no batch_dims.
Gradients gather_nd_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  if (node.integer("batch_dims", 0) != 0) return permutation_gradient(node, outputs, graph);
  Chain chain(graph, node.inputs[0]);
  const ValueId zeros = chain.zeros(chain.shape_of(node.inputs[0]));
  return only_first(chain, node,
                    chain.add(scatter_nd, {zeros, node.inputs[1], outputs[0]}, kAddUp));
}

}  // namespace shoal::ops
