#include "shoal/variants/catalog/specialists/special_network.h"

#include <span>
#include <utility>
#include <vector>

#include "shoal/base/text/printable.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/exits/network/places.h"
#include "shoal/train/step/weights/initial_weights.h"
#include "shoal/train/step/weights/product_layer.h"

namespace shoal::catalog {
namespace {

constexpr int64_t kMostFeatures = 1024;
constexpr const char *kWeight = "special.weight", *kBias = "special.bias";

}  // namespace

Result<std::string> end_of_body(const Graph& network, const std::string& at) {
  SHOAL_TRY(exits::check_classifier(network));
  if (at == kAuto) {
    const auto places = exits::even_places(network, 2);
    if (places.ok()) return network[(*places)[0]].name;
  }
  if (at != kAuto && at != kHead) {
    SHOAL_ASSIGN(const auto places, exits::find_places(network, std::span(&at, 1)));
    return network[places[0]].name;
  }
  const Node* last = nullptr;
  for (const Node& node : network.nodes()) {
    if (train::as_product(network, node)) last = &node;
  }
  if (last == nullptr) return invalid("there is no layer with weights to replace");
  return network[last->inputs[0]].name;
}

Result<Graph> body_of(const Graph& network, const std::string& end) {
  passes::Rewriter rewriter(network);
  Graph& graph = rewriter.to();
  for (const Node& node : network.nodes()) {
    SHOAL_TRY(rewriter.copy(node));
    for (ValueId id : node.outputs) {
      if (network[id].name != end) continue;
      ValueId x = rewriter.map(id);
      const Shape shape = network[id].type.shape;
      int64_t window = 1;
      while (shape.rank() == 4 && window < std::min(shape[2], shape[3]) &&
             shape[1] * (shape[2] / window) * (shape[3] / window) > kMostFeatures) {
        ++window;
      }
      if (window > 1) {
        const std::vector<int64_t> sides(2, window);
        SHOAL_ASSIGN(x, graph.add(ops::average_pool, {x},
                                  {{"kernel_shape", sides}, {"strides", sides}}, "special.pool"));
      }
      if (shape.rank() != 2) {
        SHOAL_ASSIGN(x, graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}}, "special.features"));
      }
      graph.mark_output(x);
      return passes::remove_dead_code(graph);
    }
  }
  return invalid("the network has no value " + printable(end));
}

Result<Graph> make_head(const TensorType& features, int64_t classes, uint64_t seed) {
  Graph graph;
  const ValueId x = graph.add_input("features", features);
  const ValueId w =
      graph.add_constant(kWeight, Tensor({DType::kF32, {classes, features.shape[1]}}));
  const ValueId b = graph.add_constant(kBias, Tensor({DType::kF32, {classes}}));
  SHOAL_ASSIGN(const ValueId y,
               graph.add(ops::gemm, {x, w, b}, {{"transB", int64_t{1}}}, "special.scores"));
  graph.mark_output(y);
  return train::with_initial_weights(graph, seed);
}

Result<Graph> joined(const Graph& body, const Graph& head) {
  passes::Rewriter rewriter(body);
  for (const Node& node : body.nodes()) SHOAL_TRY(rewriter.copy(node));
  Graph& graph = rewriter.to();
  std::vector<ValueId> fresh(head.value_count(), kNoValue);
  const auto at = [&](ValueId id) -> ValueId& { return fresh[static_cast<size_t>(id)]; };
  at(head.inputs()[0]) = rewriter.map(body.outputs()[0]);
  for (const Node& node : head.nodes()) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      if (at(id) == kNoValue) at(id) = graph.add_constant(head[id].name, *head[id].constant);
      inputs.push_back(at(id));
    }
    SHOAL_ASSIGN(at(node.outputs[0]), graph.add(*node.op, std::move(inputs), node.attributes,
                                                head[node.outputs[0]].name));
  }
  graph.mark_output(at(head.outputs()[0]));
  return std::move(graph);
}

}  // namespace shoal::catalog
