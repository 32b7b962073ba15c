#include "shoal/train/run/setup/training_network.h"

#include <algorithm>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/weights/initial_weights.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::fit {
namespace {

// A model that computes the target of a Reshape from its input's shape is bound with the batch as a
// constant. If that is the batch of the Reshape's own input, 0 says the same for all batches.
Result<Graph> with_open_reshapes(const Graph& graph) {
  return passes::rewrite(graph, [&](passes::Rewriter& rewriter, const Node& node) {
    const Tensor* const target =
        node.op == &ops::reshape ? passes::constant(graph, node.inputs[1]) : nullptr;
    const Shape& from = graph[node.inputs[0]].type.shape;
    if (target == nullptr || target->dtype() != DType::kI64 || target->count() == 0 ||
        from.rank() == 0 || target->data<int64_t>()[0] != from[0] ||
        node.integer("allowzero", 0) != 0) {
      return false;
    }
    Tensor open = target->clone();
    open.data<int64_t>()[0] = 0;
    const ValueId shape = rewriter.add_constant(node, "shape", std::move(open));
    return rewriter.substitute(node, *node.op, {rewriter.map(node.inputs[0]), shape},
                               node.attributes);
  });
}

// A shell pattern that matches this name alone.
std::string literal(const std::string& name) {
  std::string pattern;
  for (char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

// Binding to the batch keeps symbolic shapes right and is tried first. Rebuilding works for files
// that declare another batch; its error is the one that is reported, as it names the batch.
Result<LoadedGraph> load_for_batch(const Model& model, int64_t batch) {
  auto bound = model.graph_for_batch(batch);
  if (bound.ok()) return bound;
  SHOAL_ASSIGN(LoadedGraph loaded, model.graph());
  SHOAL_ASSIGN(loaded.graph, train::rebatched(loaded.graph, batch));
  return loaded;
}

Result<Session> session_for_batch(const Model& model, int64_t batch, Device& device,
                                  const SessionOptions& options) {
  if (batch == 0) return model.session(device, options);
  SHOAL_ASSIGN(const LoadedGraph loaded, load_for_batch(model, batch));
  return Session::open(loaded.graph, device, options);
}

Result<LoadedGraph> network_to_train(const Model& model, const TrainingOptions& options,
                                     int64_t batch) {
  SHOAL_ASSIGN(LoadedGraph loaded, load_for_batch(model, batch));
  if (loaded.graph.inputs().size() != 1) return invalid("the model needs one input");
  if (loaded.outputs.size() != 1) return invalid("the model needs one output");
  if (model.has_random_weights() || options.from_scratch) {
    SHOAL_ASSIGN(loaded.graph, train::with_initial_weights(loaded.graph, options.seed));
  }
  if (options.retarget > 0) {
    SHOAL_ASSIGN(loaded.graph, train::retargeted(loaded.graph, options.retarget, options.seed));
  }
  return loaded;
}

// An ONNX file for any batch is inferred from two graphs: dimensions that differ between batch 1
// and batch 2 follow the batch. Networks in which that is ambiguous are written for one image.
Status export_network(const NetworkForBatch& network, const std::filesystem::path& path,
                      const onnx::Properties& properties, onnx::Style style) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  SHOAL_ASSIGN(const LoadedGraph two, network(2));
  SHOAL_ASSIGN(const Graph open, with_open_reshapes(loaded.graph));
  SHOAL_ASSIGN(const Graph compared, with_open_reshapes(two.graph));
  const Status written =
      onnx::write_onnx_for_any_batch(open, compared, path, loaded.outputs, properties, style);
  if (written.code() != Code::kUnsupported) return written;
  return onnx::write_onnx(loaded.graph, path, loaded.outputs, properties, style);
}

Status export_network(const Model& model, const TrainingOptions& options,
                      const std::map<std::string, Tensor>& weights) {
  const auto trained = [&](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network_to_train(model, options, batch));
    SHOAL_ASSIGN(loaded.graph, train::with_constants(loaded.graph, weights));
    return loaded;
  };
  return export_network(trained, options.out);
}

Batches::Prepare images_for(const Graph& network, const Preprocess& preprocess) {
  const Shape& shape = network[network.inputs()[0]].type.shape;
  return [preprocess, dims = std::vector<int64_t>(shape.begin(), shape.end())](
             const Tensor& image) { return image_for_input(image, dims, preprocess); };
}

int64_t classes_of(const Graph& network) {
  return network[train::scores_of(network)].type.shape[1];
}

// A Softmax after the scores is dropped as dead code by the passes.
Result<Graph> up_to_scores(const Graph& network, std::span<const ValueId> others) {
  passes::Rewriter rewriter(network);
  for (const Node& node : network.nodes()) SHOAL_TRY(rewriter.copy(node));
  Graph graph = std::move(rewriter.to());
  graph.mark_output(rewriter.map(train::scores_of(network)));
  for (ValueId other : others) graph.mark_output(rewriter.map(other));
  return passes::optimize(graph);
}

std::vector<std::string> all_but(const Graph& network, const std::vector<std::string>& learned) {
  std::vector<std::string> patterns;
  for (ValueId id : train::learned_values(network)) {
    if (std::ranges::find(learned, network[id].name) != learned.end()) continue;
    patterns.push_back(literal(network[id].name));
  }
  return patterns;
}

}  // namespace shoal::fit
