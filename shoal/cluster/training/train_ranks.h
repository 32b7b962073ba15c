// Trains a network by equal processes that are all present from the beginning to the end, such as
// the ranks of MPI. There is no hub: each computes its share of the micro-batches of every step,
// all gather all results, and each merges them in the same order (learn::Merger). So the weights
// are those of one process, bit by bit, if the codec is exact.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "shoal/cluster/training/train_cluster.h"

namespace shoal::train_cluster {

// The processes, as one of them sees them.
struct RankGroup {
  int rank = 0, size = 1;
  using Messages = std::vector<std::vector<std::byte>>;
  // The bytes that each has passed, by rank. All of them call it, equally often.
  std::function<Result<Messages>(std::span<const std::byte>)> gather;
};

// The options for ranks: they keep no checkpoint. One that was asked for, by its file or to resume
// from it, is kept, so that train_as_rank() fails.
Options for_ranks(Options options, bool asks_for_checkpoint);

// Blocks until training ends. Only rank 0 evaluates, and writes options.fit.out. A failure of one
// rank fails all, with its message. Fails as check(), the files and the replica do; kUnsupported
// for checkpoints; kInternal, naming the rank, if weights differ.
Result<Figures> train_as_rank(const RankGroup& group, Device& device, const Options& options);

}  // namespace shoal::train_cluster
