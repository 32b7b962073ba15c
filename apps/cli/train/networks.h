// A network to train, for batches of any size.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"
#include "train_flags.h"

namespace shoal::cli {

// A model for batches of this size; the zoo's have weights of the seed.
Result<LoadedGraph> load_for_batch(const std::string& model, int64_t batch, uint64_t seed);

// What is to be trained: with fresh weights or another last layer, if the flags say so.
Result<LoadedGraph> network_to_train(const TrainFlags& flags, int64_t batch);

// The network with what it learned, as a file: for batches of any size, where that can be.
Status export_learned(const TrainFlags& flags, const std::map<std::string, Tensor>& learned);

}  // namespace shoal::cli
