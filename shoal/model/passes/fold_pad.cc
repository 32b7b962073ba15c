// Moves a Pad of zeros into the `pads` of the Conv or pool behind it:
//   Conv(Pad(x, p), pads=q) = Conv(x, pads=p+q)
// Pools treat their own padding unlike zeros, so for them this holds under conditions only.
#include <algorithm>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

using Pads = std::vector<int64_t>;  // spatial axes: all begins, then all ends

// The pads of a Pad that adds zeros around the spatial axes and does nothing else.
std::optional<Pads> zeros_around(const Graph& graph, const Node& pad) {
  const size_t rank = graph[pad.inputs[0]].type.shape.rank();
  const bool has_value = pad.inputs.size() > 2 && pad.inputs[2] != kNoValue;
  const bool names_axes = pad.inputs.size() > 3;
  const Tensor* list = constant(graph, pad.inputs[1]);
  if (pad.text("mode", "constant") != "constant" || list == nullptr || names_axes || rank < 3 ||
      (has_value && scalar(graph, pad.inputs[2]) != 0)) {
    return std::nullopt;
  }
  Pads pads = to_ints(*list);
  if (std::ranges::any_of(pads, [](int64_t p) { return p < 0; })) return std::nullopt;
  for (size_t axis : {rank + 1, rank, size_t{1}, size_t{0}}) {  // channels and batch, last first
    if (pads[axis] != 0) return std::nullopt;
    pads.erase(pads.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return pads;
}

// The pads of the node itself. nullopt if they depend on the size of its input (SAME).
std::optional<Pads> own_pads(const Node& node, size_t count) {
  const std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "VALID") return Pads(count, 0);
  if (mode != "NOTSET") return std::nullopt;
  Pads pads = node.integers("pads");
  if (pads.empty()) pads.assign(count, 0);
  return pads.size() == count ? std::optional(pads) : std::nullopt;
}

// Whether the producer of a value gives no negative numbers.
bool never_negative(const Graph& graph, const UseDefs& links, ValueId id) {
  const Node* node = links.producer(id);
  if (node == nullptr) return false;
  if (node->op == &ops::clip) {
    // A bound that is lower than `low` wins over it.
    const bool low = node->inputs.size() > 1 && scalar(graph, node->inputs[1]).value_or(-1) >= 0;
    const bool has_high = node->inputs.size() > 2 && node->inputs[2] != kNoValue;
    return low && (!has_high || scalar(graph, node->inputs[2]).value_or(-1) >= 0);
  }
  return node->op == &ops::relu || node->op == &ops::sigmoid || node->op == &ops::softmax ||
         node->op == &ops::abs || node->op == &ops::exp;
}

// Whether every window of a pool sees some of the input. A window that sees only padding gives
// another result than one that sees zeros. With ceil_mode there may be such windows at the end.
bool pool_sees_input(const Node& pool, const Pads& pads) {
  const std::vector<int64_t> kernel = pool.integers("kernel_shape");
  const std::vector<int64_t> dilations = pool.integers("dilations");
  if (pool.integer("ceil_mode", 0) != 0 || pads.size() != 2 * kernel.size() ||
      std::ranges::any_of(dilations, [](int64_t d) { return d != 1; })) {
    return false;
  }
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) return false;
  }
  return true;
}

struct Fold {
  ValueId x;
  Attributes attributes;
};

std::optional<Fold> fold(const Graph& graph, const UseDefs& links, const Node& node) {
  const Node* pad = links.producer(node.inputs[0], ops::pad_);
  const std::optional<Pads> around = pad == nullptr ? std::nullopt : zeros_around(graph, *pad);
  const std::optional<Pads> own = around ? own_pads(node, around->size()) : std::nullopt;
  if (!own) return std::nullopt;
  Pads pads = *own;
  for (size_t i = 0; i < pads.size(); ++i) pads[i] += (*around)[i];

  Attributes attributes = node.attributes;
  attributes.erase("auto_pad");
  attributes["pads"] = pads;
  if (node.op == &ops::average_pool) {
    // The zeros of the Pad counted as elements. The divisor can count either all padding or none,
    // so the pool's own padding must have counted, too, or not exist.
    const bool all_count = node.integer("count_include_pad", 0) != 0 ||
                           std::ranges::count(*own, 0) == std::ssize(*own);
    if (!all_count || !pool_sees_input(node, pads)) return std::nullopt;
    attributes["count_include_pad"] = int64_t{1};
  }
  if (node.op == &ops::max_pool) {
    // The pool's own padding is never the largest element. A zero is not either if no element is
    // negative. Output 1 counts positions in the padded input, so a pool that gives it stays.
    if (node.outputs.size() > 1 || !pool_sees_input(node, pads) ||
        !never_negative(graph, links, pad->inputs[0])) {
      return std::nullopt;
    }
  }
  return Fold{pad->inputs[0], std::move(attributes)};
}

}  // namespace

Result<Graph> fold_pad(const Graph& graph) {
  const UseDefs links(graph);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::conv && node.op != &ops::average_pool && node.op != &ops::max_pool) {
      return false;
    }
    std::optional<Fold> folded = fold(graph, links, node);
    if (!folded) return false;
    std::vector<ValueId> inputs = rewriter.map(node.inputs);
    inputs[0] = rewriter.map(folded->x);
    return rewriter.substitute(node, *node.op, std::move(inputs), std::move(folded->attributes));
  });
}

}  // namespace shoal::passes
