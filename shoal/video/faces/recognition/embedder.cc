#include "shoal/video/faces/recognition/embedder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/exits/network/places.h"

namespace shoal::faces {
namespace {

constexpr int64_t kGrid = 4;  // squares of an image in a row

// As many exits as there are places for, up to `wanted`.
std::vector<ValueId> places_for(const Graph& network, size_t wanted) {
  for (; wanted > 0; --wanted) {
    auto places = exits::even_places(network, wanted);
    if (places.ok()) return *std::move(places);
  }
  return {};
}

Result<ValueId> add_exit(Graph& graph, ValueId at) {
  const Shape shape = graph[at].type.shape;
  if (shape.rank() == 4) {
    const std::vector<int64_t> kernel = {std::max<int64_t>(1, shape[2] / kGrid),
                                         std::max<int64_t>(1, shape[3] / kGrid)};
    SHOAL_ASSIGN(at, graph.add(*ops::find("AveragePool"), {at},
                               {{"kernel_shape", kernel}, {"strides", kernel}}));
  }
  return graph.add(*ops::find("Flatten"), {at}, {{"axis", int64_t{1}}});
}

Result<exits::MultiExit> with_exits(const Graph& network, size_t wanted) {
  exits::MultiExit multi_exit{.graph = network};
  multi_exit.outputs.push_back(network[network.outputs()[0]].name);
  for (const ValueId place : places_for(network, wanted)) {
    SHOAL_ASSIGN(const ValueId exit, add_exit(multi_exit.graph, place));
    multi_exit.graph.mark_output(exit);
    multi_exit.outputs.push_back(multi_exit.graph[exit].name);
    multi_exit.exits.push_back({.at = network[place].name, .scores = multi_exit.graph[exit].name});
  }
  return multi_exit;
}

}  // namespace

Result<Embedding> FacePass::next() {
  SHOAL_ASSIGN(const Tensor row, runner_->advance(progress_));
  return normalised(row.data<float>());
}

Result<Embedder> Embedder::open(const Model& model, Device& device,
                                const EmbedderOptions& options) {
  SHOAL_ASSIGN(const LoadedGraph loaded, model.graph());
  const Graph& network = loaded.graph;
  SHOAL_TRY(exits::check_classifier(network));  // one vector of one input
  const TensorType& input = network[network.inputs()[0]].type;
  const Shape& shape = input.shape;
  if (input.dtype != DType::kF32 || shape.rank() != 4 || shape[0] != 1 || shape[1] != 3 ||
      shape[2] != shape[3]) {
    return invalid("the model takes " + to_string(input) + ", no square image [1, 3, side, side]");
  }
  const int64_t side = shape[2];
  SHOAL_ASSIGN(exits::MultiExit multi_exit, with_exits(network, options.exits));
  std::vector<int64_t> dims;
  for (const ValueId id : multi_exit.graph.outputs())
    dims.push_back(multi_exit.graph[id].type.shape[1]);
  std::rotate(dims.begin(), dims.begin() + 1,
              dims.end());  // the first output is the last to be computed
  SHOAL_ASSIGN(exits::Runner runner, exits::Runner::create(device, std::move(multi_exit)));
  return Embedder(std::move(runner), side, std::move(dims), options.preprocess);
}

Result<FacePass> Embedder::start(const Tensor& face) const {
  Preprocess preprocessing = preprocess_;
  preprocessing.stretch = true;
  SHOAL_ASSIGN(const Tensor input, preprocess(face, preprocessing, side_, side_));
  SHOAL_ASSIGN(exits::Progress progress, runner_.start(input));
  return FacePass(runner_, std::move(progress), stage_macs().size());
}

Result<Embedding> Embedder::embed(const Tensor& face) const {
  SHOAL_ASSIGN(FacePass pass, start(face));
  for (;;) {
    SHOAL_ASSIGN(Embedding embedding, pass.next());
    if (pass.done()) return embedding;
  }
}

}  // namespace shoal::faces
