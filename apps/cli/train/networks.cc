#include "networks.h"

#include <algorithm>

#include "shoal/onnx/export.h"
#include "shoal/train/initial_weights.h"
#include "shoal/train/rebuild.h"
#include "shoal/zoo/zoo.h"

namespace shoal::cli {
namespace {

constexpr std::string_view kZoo = "zoo:";

bool is_built(const std::string& model) {
  return model.starts_with(kZoo) && model != kDefaultModel;
}

// "x=64x3x32x32"
std::string shape_text(const Graph& graph, int64_t batch) {
  const Value& input = graph[graph.inputs()[0]];
  std::string text = input.name + "=" + std::to_string(batch);
  for (size_t i = 1; i < input.type.shape.rank(); ++i) {
    text += "x" + std::to_string(input.type.shape[i]);
  }
  return text;
}

}  // namespace

Result<LoadedGraph> load_for_batch(const std::string& model, int64_t batch, uint64_t seed) {
  if (is_built(model)) {
    SHOAL_ASSIGN(Graph graph, zoo::build(std::string_view(model).substr(kZoo.size()),
                                         {.seed = seed, .batch = batch}));
    return LoadedGraph{std::move(graph), {"output"}};
  }
  SHOAL_ASSIGN(LoadedGraph loaded, load_graph(model, {}));
  if (loaded.graph.inputs().size() != 1) return invalid("the model needs one input");
  if (loaded.graph[loaded.graph.inputs()[0]].type.shape.rank() == 0) return loaded;
  auto open = load_graph(model, {shape_text(loaded.graph, batch)});
  if (open.ok()) return open;
  // It was written for one size, but may not depend on it.
  SHOAL_ASSIGN(loaded.graph, train::rebatched(loaded.graph, batch));
  return loaded;
}

Result<LoadedGraph> network_to_train(const TrainFlags& flags, int64_t batch) {
  SHOAL_ASSIGN(LoadedGraph loaded, load_for_batch(flags.model.model, batch, flags.seed));
  if (loaded.outputs.size() != 1) return invalid("the model needs one output");
  if (is_built(flags.model.model) || flags.from_scratch) {
    SHOAL_ASSIGN(loaded.graph, train::with_initial_weights(loaded.graph, flags.seed));
  }
  if (flags.retarget > 0) {
    SHOAL_ASSIGN(loaded.graph, train::retargeted(loaded.graph, flags.retarget, flags.seed));
  }
  return loaded;
}

Status export_learned(const TrainFlags& flags, const std::map<std::string, Tensor>& learned) {
  const auto trained = [&](int64_t batch) -> Result<Graph> {
    SHOAL_ASSIGN(const LoadedGraph loaded, network_to_train(flags, batch));
    return train::with_constants(loaded.graph, learned);
  };
  SHOAL_ASSIGN(const LoadedGraph names, network_to_train(flags, 1));
  SHOAL_ASSIGN(const Graph one, trained(1));
  SHOAL_ASSIGN(const Graph two, trained(2));
  const Status written = onnx::write_onnx_for_any_batch(one, two, flags.out, names.outputs);
  if (written.code() != Code::kUnsupported) return written;
  return onnx::write_onnx(one, flags.out, names.outputs);
}

}  // namespace shoal::cli
