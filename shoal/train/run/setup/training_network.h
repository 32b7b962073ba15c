// Networks for training: a model bound to a batch size, changed by options, and exported with its
// weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::fit {

// A model for batches of this size. A file that declares another size is rebuilt, unless one of its
// constants, such as the target of a Reshape, depends on the batch.
Result<LoadedGraph> load_for_batch(const Model& model, int64_t batch);
// A session on it; for batch 0, on the model as it is. REQUIRES: `device` outlives the session.
Result<Session> session_for_batch(const Model& model, int64_t batch, Device& device,
                                  const SessionOptions& options = {});

// The network to train: `model` with fresh weights or another last layer, if the options say so.
// Fails with kInvalidArgument if it has more than one input or output.
Result<LoadedGraph> network_to_train(const Model& model, const TrainingOptions& options,
                                     int64_t batch);

// A network for batches of any size.
using NetworkForBatch = std::function<Result<LoadedGraph>(int64_t batch)>;

// The network with `change`, a function from a Graph to a Result<Graph>, applied for every batch.
template <class Change>
NetworkForBatch changed(NetworkForBatch network, Change change) {
  return [network = std::move(network),
          change = std::move(change)](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    SHOAL_ASSIGN(loaded.graph, change(loaded.graph));
    return loaded;
  };
}

// Writes a network as ONNX: for batches of any size if the network allows it, else for one image.
Status export_network(const NetworkForBatch& network, const std::filesystem::path& path,
                      const onnx::Properties& properties = {},
                      onnx::Style style = onnx::Style::kReadable);

// Writes the network to train with these weights to options.out.
Status export_network(const Model& model, const TrainingOptions& options,
                      const std::map<std::string, Tensor>& weights);

// The conversion of images to inputs, and the number of classes. REQUIRES: one input and one output
// [batch, classes].
Batches::Prepare images_for(const Graph& network, const Preprocess& preprocess);
int64_t classes_of(const Graph& network);

// The network up to its class scores, without Softmax, with these values as further outputs.
Result<Graph> up_to_scores(const Graph& network, std::span<const ValueId> others = {});

// Patterns that freeze all parameters except those of these names.
std::vector<std::string> all_but(const Graph& network, const std::vector<std::string>& learned);

}  // namespace shoal::fit
