// Removes nodes whose output equals their input: readers of the one read the other.
#include <algorithm>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// Operators that change no element unless they change the type. A reduction over axes of size 1, or
// a Concat of one input with empty ones, gives that input back.
bool is_identity_of_same_type(const Operator* op) {
  static constexpr const Operator* kOperators[] = {
      &ops::identity,       &ops::cast,           &ops::cast_like,      &ops::reshape,
      &ops::flatten,        &ops::squeeze,        &ops::unsqueeze,      &ops::expand,
      &ops::tile_,          &ops::concat,         &ops::reduce_max,     &ops::reduce_mean,
      &ops::reduce_min,     &ops::reduce_sum,     &ops::split_,         &ops::global_average_pool,
      &ops::depth_to_space, &ops::space_to_depth, &ops::global_max_pool};
  return std::ranges::find(kOperators, op) != std::end(kOperators);
}

bool all_ints(const Graph& graph, ValueId id, auto holds) {
  const Tensor* tensor = constant(graph, id);
  return tensor != nullptr && std::ranges::all_of(to_ints(*tensor), holds);
}

bool is_whole_slice(const Graph& graph, const Node& node) {
  const bool has_steps = node.inputs.size() > 4 && node.inputs[4] != kNoValue;
  return !has_steps || all_ints(graph, node.inputs[4], [](int64_t step) { return step > 0; });
}

bool is_inference(const Graph& graph, const Node& dropout) {
  if (dropout.inputs.size() < 3 || dropout.inputs[2] == kNoValue) return true;
  return scalar(graph, dropout.inputs[2]) == 0;
}

// A scale other than 1 may keep the size and still move the samples.
bool keeps_samples(const Graph& graph, const Node& resize) {
  if (resize.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") return false;
  // Empty sizes, as older exporters write them, are none, and the scales count.
  const bool has_sizes = resize.inputs.size() > 3 && resize.inputs[3] != kNoValue &&
                         graph[resize.inputs[3]].type.shape.count() > 0;
  if (has_sizes) return true;
  const Tensor* scales = resize.inputs.size() > 2 ? constant(graph, resize.inputs[2]) : nullptr;
  return scales != nullptr && scales->dtype() == DType::kF32 &&
         std::ranges::all_of(scales->data<float>(), [](float scale) { return scale == 1.0f; });
}

// Whether the other input is the constant `neutral`: on the right of x, or on either side where the
// operator commutes.
bool has_neutral(const Graph& graph, const Node& node, double neutral, size_t input) {
  const size_t other = 1 - input;
  const bool swaps = node.op == &ops::add || node.op == &ops::mul;
  return (other == 1 || swaps) && scalar(graph, node.inputs[other]) == neutral;
}

bool passes_through(const Graph& graph, const Node& node, size_t input) {
  // Types are equal here, so a neutral element that would stretch x has been ruled out.
  const Operator* op = node.op;
  if (op == &ops::add || op == &ops::sub) return has_neutral(graph, node, 0, input);
  if (op == &ops::mul || op == &ops::div) return has_neutral(graph, node, 1, input);
  if (input != 0) return false;
  if (is_identity_of_same_type(op)) return true;
  if (op == &ops::transpose) return is_view(graph, node);
  if (op == &ops::dropout) return is_inference(graph, node);
  if (op == &ops::slice) return is_whole_slice(graph, node);
  if (op == &ops::resize) return keeps_samples(graph, node);
  if (op == &ops::pad_) {
    return all_ints(graph, node.inputs[1], [](int64_t pad) { return pad == 0; });
  }
  const bool one_input = std::ranges::count(node.inputs, kNoValue) + 1 == std::ssize(node.inputs);
  if (op == &ops::clip) return one_input;
  return one_input && (op == &ops::sum || op == &ops::mean || op == &ops::max || op == &ops::min);
}

}  // namespace

Result<Graph> remove_identity(const Graph& graph) {
  const UseDefs links(graph);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    const bool one_result = std::ranges::none_of(node.outputs.begin() + 1, node.outputs.end(),
                                                 [&](ValueId id) { return links.is_read(id); });
    if (!one_result) return false;
    for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i) {
      const bool same_type =
          node.inputs[i] != kNoValue && graph[node.inputs[i]].type == graph[node.outputs[0]].type;
      if (!same_type || !passes_through(graph, node, i)) continue;
      rewriter.replace(node.outputs[0], rewriter.map(node.inputs[i]));
      return true;
    }
    return false;
  });
}

}  // namespace shoal::passes
