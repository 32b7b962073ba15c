// Networks for training: a model bound to a batch size, changed as the options say, and written to
// a file with the weights it learned.
#pragma once

#include <map>
#include <string>

#include "shoal/base/status.h"
#include "shoal/fit/training_options.h"
#include "shoal/models/model.h"

namespace shoal::fit {

// A model for batches of this size. A file that declares another size is rebuilt for it, unless a
// constant in it, such as the target of a Reshape, knows the batch.
Result<LoadedGraph> load_for_batch(const Model& model, int64_t batch);

// The network to train: `model` with fresh weights or another last layer, if the options say so.
// Fails with kInvalidArgument if it has more than one input or output.
Result<LoadedGraph> network_to_train(const Model& model, const TrainingOptions& options,
                                     int64_t batch);

// Writes the network with these weights to options.out as ONNX: for batches of any size if the
// network allows it, else for one image.
Status export_network(const Model& model, const TrainingOptions& options,
                      const std::map<std::string, Tensor>& weights);

// The network up to the scores of its classes, without a Softmax after them.
Result<Graph> up_to_scores(const Graph& network);

}  // namespace shoal::fit
