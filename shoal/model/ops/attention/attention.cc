// Attention, our own operator: y = softmax(scale * q k' + mask) v for every image and head, where '
// transposes the last two axes. q: [batch, heads, queries, depth], k: [batch, heads, keys, depth],
// v: [batch, heads, keys, width]; the mask, if given, broadcasts to [batch, heads, queries, keys].
// With `tokens_first`, q, k, v and y have their second and third axis exchanged, as one product for
// all heads leaves them. It is differentiated through its expansion.
#include "shoal/model/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kMask = 3;

// The axes of q, k, v and y.
struct Axes {
  size_t heads = 1, tokens = 2;
};
Axes axes_of(const Node& node) {
  return node.integer("tokens_first", 0) != 0 ? Axes{2, 1} : Axes{1, 2};
}

bool has_mask(std::span<const Operand> inputs) {
  return inputs.size() > kMask && inputs[kMask].given;
}

Result<std::vector<TensorType>> infer_attention(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  for (const Operand& input : inputs.first(kMask)) SHOAL_TRY(require_rank(input, 4));
  const Shape &q = inputs[0].type.shape, &k = inputs[1].type.shape, &v = inputs[2].type.shape;
  const Axes axes = axes_of(node);
  for (const Shape* other : {&k, &v}) {
    if ((*other)[0] != q[0] || (*other)[axes.heads] != q[axes.heads]) {
      return invalid("queries, keys and values differ in batch or heads");
    }
  }
  if (q[3] != k[3]) return invalid("queries and keys differ in depth");
  if (k[axes.tokens] != v[axes.tokens]) return invalid("there are not as many values as keys");
  const Shape scores = attention_sizes(node, q, k, v).scores();
  // The mask may be smaller than the scores, never larger: it would change the shape of y.
  if (has_mask(inputs)) {
    SHOAL_ASSIGN(const Shape all, broadcast(std::vector{scores, inputs[kMask].type.shape}));
    if (all != scores) return invalid("the mask does not broadcast to the scores");
  }
  Shape y = q;
  y[3] = v[3];
  return std::vector{TensorType{inputs[0].type.dtype, y}};
}

// scores = softmax(scores), in place. The largest score is subtracted first, so exp cannot
// overflow. A row whose scores are all -infinity gives NaN, as Softmax does.
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

  const T* k;  // [keys, depth], rows k_step apart
  const T* v;  // [keys, width], rows v_step apart
  int64_t keys, depth, width, k_step, v_step;
  C scale;

  void score(const T* q, std::vector<C>& scores) const {
    for (int64_t j = 0; j < keys; ++j) {
      C sum = 0;
      for (int64_t d = 0; d < depth; ++d) {
        sum += static_cast<C>(q[d]) * static_cast<C>(k[j * k_step + d]);
      }
      scores[static_cast<size_t>(j)] = scale * sum;
    }
  }

  void mix(const std::vector<C>& scores, T* y) const {
    for (int64_t d = 0; d < width; ++d) {
      C sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        sum += scores[static_cast<size_t>(j)] * static_cast<C>(v[j * v_step + d]);
      }
      y[d] = static_cast<T>(sum);
    }
  }
};

template <class T>
void attend(const Node& node, std::span<const Tensor> inputs, Tensor& output) {
  using C = Compute<T>;
  const auto n = attention_sizes(node, inputs[0].shape(), inputs[1].shape(), inputs[2].shape());
  const bool masked = inputs.size() > kMask && inputs[kMask].defined();
  const T* mask = masked ? inputs[kMask].data<T>().data() : nullptr;
  const Strides at =
      masked ? broadcast_strides(inputs[kMask].shape(), n.scores()) : Strides{0, 0, 0, 0};
  std::vector<C> scores(static_cast<size_t>(n.keys));
  for (int64_t h = 0; h < n.batch * n.heads; ++h) {
    const Head<T> head{inputs[1].data<T>().data() + n.begin(h, n.keys, n.depth),
                       inputs[2].data<T>().data() + n.begin(h, n.keys, n.width),
                       n.keys,
                       n.depth,
                       n.width,
                       n.step(n.depth),
                       n.step(n.width),
                       static_cast<C>(node.real("scale", 1))};
    const T* q = inputs[0].data<T>().data() + n.begin(h, n.queries, n.depth);
    T* y = output.data<T>().data() + n.begin(h, n.queries, n.width);
    for (int64_t i = 0; i < n.queries; ++i) {
      head.score(q + i * n.step(n.depth), scores);
      const int64_t row = h / n.heads * at[0] + h % n.heads * at[1] + i * at[2];
      for (int64_t j = 0; masked && j < n.keys; ++j) {
        scores[static_cast<size_t>(j)] += static_cast<C>(mask[row + j * at[3]]);
      }
      softmax_row(scores);
      head.mix(scores, y + i * n.step(n.width));
    }
  }
}

void reference_attention(const Node& node, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  visit<Floats>(inputs[0].dtype(), [&]<class T>() { attend<T>(node, inputs, outputs[0]); });
}

// Every query reads all keys of its head, so k and v stay whole along the tokens. Columns of y are
// columns of v.
std::optional<Tile> split_attention(const Node& node, std::span<const Operand> inputs,
                                    const Region& output) {
  const Axes axes = axes_of(node);
  const auto n =
      attention_sizes(node, inputs[0].type.shape, inputs[1].type.shape, inputs[2].type.shape);
  Region q = output, k = output, v = output;
  q.begin[3] = k.begin[3] = k.begin[axes.tokens] = v.begin[axes.tokens] = 0;
  q.end[3] = k.end[3] = n.depth;
  k.end[axes.tokens] = v.end[axes.tokens] = n.keys;
  Tile tile{{q, k, v}, output, node.attributes, {}};
  if (inputs.size() > kMask) {
    auto scores_part = [&](const Shape& y, int64_t key) {
      return Shape{y[0], y[axes.heads], y[axes.tokens], key};
    };
    const Region scores{scores_part(output.begin, 0), scores_part(output.end, n.keys)};
    tile.inputs.push_back(inputs[kMask].given ? broadcast_region(inputs[kMask].type.shape, scores)
                                              : Region{});
  }
  return tile;
}

int64_t macs_of_attention(const Node& node, std::span<const Operand> inputs,
                          std::span<const TensorType>) {
  const auto n =
      attention_sizes(node, inputs[0].type.shape, inputs[1].type.shape, inputs[2].type.shape);
  const Checked rows = Checked(n.batch) * n.heads * n.queries * n.keys;
  return (rows * (Checked(n.depth) + n.width)).value();
}

Result<ValueId> transposed(Graph& graph, ValueId x, std::vector<int64_t> perm) {
  return graph.add(transpose, {x}, {{"perm", std::move(perm)}});
}

// With `tokens_first` the heads are moved to the front, since MatMul works on the last two axes.
Result<std::vector<ValueId>> expand_node(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const bool tokens_first = axes_of(node).tokens == 1;
  const DType dtype = graph[inputs[0]].type.dtype;
  const Tensor scale = Tensor::of<float>({}, {node.real("scale", 1)});
  ValueId q = inputs[0], v = inputs[2];
  if (tokens_first) {
    SHOAL_ASSIGN(q, transposed(graph, q, {0, 2, 1, 3}));
    SHOAL_ASSIGN(v, transposed(graph, v, {0, 2, 1, 3}));
  }
  std::vector<int64_t> keys_last =
      tokens_first ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 1, 3, 2};
  SHOAL_ASSIGN(const ValueId keys, transposed(graph, inputs[1], std::move(keys_last)));
  SHOAL_ASSIGN(ValueId y, graph.add(mat_mul, {q, keys}));
  SHOAL_ASSIGN(y, graph.add(mul, {y, graph.add_constant("scale", converted(scale, dtype))}));
  if (inputs.size() > kMask && inputs[kMask] != kNoValue) {
    SHOAL_ASSIGN(y, graph.add(add, {y, inputs[kMask]}));
  }
  SHOAL_ASSIGN(y, graph.add(softmax, {y}));
  SHOAL_ASSIGN(y, graph.add(mat_mul, {y, v}));
  if (tokens_first) {
    SHOAL_ASSIGN(y, transposed(graph, y, {0, 2, 1, 3}));
  }
  return std::vector{y};
}

}  // namespace

AttentionSizes attention_sizes(const Node& node, const Shape& q, const Shape& k, const Shape& v) {
  const Axes axes = axes_of(node);
  return {q[0], q[axes.heads], q[axes.tokens], k[axes.tokens], k[3], v[3], axes.tokens == 1};
}

SHOAL_RECORD(attention) = {.name = "Attention",
                           .min_inputs = 3,
                           .max_inputs = 4,
                           .infer = infer_attention,
                           .reference = reference_attention,
                           .split = split_attention,
                           .macs = macs_of_attention,
                           .expand = expand_node};

}  // namespace shoal::ops
