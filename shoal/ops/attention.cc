// Attention, our own operator: y = softmax(scale * q k' + mask) v for every image and head, where '
// transposes the last two axes. q: [batch, heads, queries, depth], k: [batch, heads, keys, depth],
// v: [batch, heads, keys, width]; the mask, if given, broadcasts to [batch, heads, queries, keys].
#include <algorithm>
#include <cmath>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/record.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kMask = 3;

bool has_mask(std::span<const Operand> inputs) {
  return inputs.size() > kMask && inputs[kMask].given;
}

Shape scores_shape(const Shape& q, const Shape& k) { return {q[0], q[1], q[2], k[2]}; }

Result<std::vector<TensorType>> infer(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  for (const Operand& input : inputs.first(kMask)) SHOAL_TRY(require_rank(input, 4));
  const Shape &q = inputs[0].type.shape, &k = inputs[1].type.shape, &v = inputs[2].type.shape;
  for (const Shape* other : {&k, &v}) {
    if ((*other)[0] != q[0] || (*other)[1] != q[1]) {
      return invalid("queries, keys and values differ in batch or heads");
    }
  }
  if (q[3] != k[3]) return invalid("queries and keys differ in depth");
  if (k[2] != v[2]) return invalid("there are not as many values as keys");
  const Shape scores = scores_shape(q, k);
  if (has_mask(inputs)) {
    SHOAL_ASSIGN(const Shape all, broadcast(std::vector{scores, inputs[kMask].type.shape}));
    if (all != scores) return invalid("the mask does not broadcast to the scores");
  }
  return std::vector{TensorType{inputs[0].type.dtype, {q[0], q[1], q[2], v[3]}}};
}

// scores = softmax(scores), in place.
template <class C>
void softmax_row(std::vector<C>& scores) {
  if (scores.empty()) return;
  const C top = std::ranges::max(scores);
  C sum = 0;
  for (C& score : scores) sum += score = std::exp(score - top);
  for (C& score : scores) score /= sum;
}

// The walk over one head of one image, a query at a time.
template <class T>
struct Head {
  using C = Compute<T>;

  const T* k;  // [keys, depth]
  const T* v;  // [keys, width]
  int64_t keys, depth, width;
  C scale;

  void score(const T* q, std::vector<C>& scores) const {
    for (int64_t j = 0; j < keys; ++j) {
      C sum = 0;
      for (int64_t d = 0; d < depth; ++d) {
        sum += static_cast<C>(q[d]) * static_cast<C>(k[j * depth + d]);
      }
      scores[static_cast<size_t>(j)] = scale * sum;
    }
  }

  void mix(const std::vector<C>& scores, std::vector<C>& row) const {
    std::ranges::fill(row, C{0});
    for (int64_t j = 0; j < keys; ++j) {
      const C share = scores[static_cast<size_t>(j)];
      for (int64_t d = 0; d < width; ++d) {
        row[static_cast<size_t>(d)] += share * static_cast<C>(v[j * width + d]);
      }
    }
  }
};

template <class T>
void attend(const Node& node, std::span<const Tensor> inputs, Tensor& output) {
  using C = Compute<T>;
  const Shape &q = inputs[0].shape(), &k = inputs[1].shape(), &v = inputs[2].shape();
  const bool masked = inputs.size() > kMask && inputs[kMask].defined();
  const T* mask = masked ? inputs[kMask].data<T>().data() : nullptr;
  const Strides at =
      masked ? broadcast_strides(inputs[kMask].shape(), scores_shape(q, k)) : Strides{0, 0, 0, 0};
  std::vector<C> scores(static_cast<size_t>(k[2])), row(static_cast<size_t>(v[3]));
  T* y = output.data<T>().data();
  for (int64_t b = 0; b < q[0]; ++b) {
    for (int64_t h = 0; h < q[1]; ++h) {
      const int64_t n = b * q[1] + h;
      const Head<T> head{inputs[1].data<T>().data() + n * k[2] * k[3],
                         inputs[2].data<T>().data() + n * v[2] * v[3],
                         k[2],
                         k[3],
                         v[3],
                         static_cast<C>(node.real("scale", 1))};
      for (int64_t i = 0; i < q[2]; ++i) {
        head.score(inputs[0].data<T>().data() + (n * q[2] + i) * q[3], scores);
        for (int64_t j = 0; masked && j < k[2]; ++j) {
          scores[static_cast<size_t>(j)] +=
              static_cast<C>(mask[b * at[0] + h * at[1] + i * at[2] + j * at[3]]);
        }
        softmax_row(scores);
        head.mix(scores, row);
        y = std::ranges::transform(row, y, [](C sum) { return static_cast<T>(sum); }).out;
      }
    }
  }
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit<Floats>(inputs[0].dtype(), [&]<class T>() { attend<T>(node, inputs, outputs[0]); });
}

// A query needs every key of its head; columns of y are columns of v.
std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  Region q = output, k = output, v = output, scores = output;
  q.begin[3] = k.begin[2] = k.begin[3] = v.begin[2] = scores.begin[3] = 0;
  q.end[3] = k.end[3] = inputs[0].type.shape[3];
  k.end[2] = v.end[2] = scores.end[3] = inputs[1].type.shape[2];
  Tile tile{{q, k, v}, output, node.attributes, {}};
  if (inputs.size() > kMask) {
    tile.inputs.push_back(inputs[kMask].given ? broadcast_region(inputs[kMask].type.shape, scores)
                                              : Region{});
  }
  return tile;
}

int64_t macs(const Node&, std::span<const Operand> inputs, std::span<const TensorType>) {
  const Shape &k = inputs[1].type.shape, &v = inputs[2].type.shape;
  const Checked rows = Checked(inputs[0].type.shape.count(0, 3)) * k[2];
  return (rows * (Checked(k[3]) + v[3])).value();
}

Result<std::vector<ValueId>> expand_node(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const DType dtype = graph[inputs[0]].type.dtype;
  const Tensor scale = Tensor::of<float>({}, {node.real("scale", 1)});
  SHOAL_ASSIGN(const ValueId keys,
               graph.add(transpose, {inputs[1]}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}));
  SHOAL_ASSIGN(ValueId y, graph.add(mat_mul, {inputs[0], keys}));
  SHOAL_ASSIGN(y, graph.add(mul, {y, graph.add_constant("scale", converted(scale, dtype))}));
  if (inputs.size() > kMask && inputs[kMask] != kNoValue) {
    SHOAL_ASSIGN(y, graph.add(add, {y, inputs[kMask]}));
  }
  SHOAL_ASSIGN(y, graph.add(softmax, {y}));
  SHOAL_ASSIGN(y, graph.add(mat_mul, {y, inputs[2]}));
  return std::vector{y};
}

}  // namespace

SHOAL_RECORD(attention) = {.name = "Attention",
                           .min_inputs = 3,
                           .max_inputs = 4,
                           .infer = infer,
                           .reference = reference,
                           .split = split,
                           .macs = macs,
                           .expand = expand_node};

}  // namespace shoal::ops
