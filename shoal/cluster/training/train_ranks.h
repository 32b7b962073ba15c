// Trains a network by equal processes that are all there from the beginning to the end, such as the
// ranks of MPI. There is no hub: each computes its share of the micro-batches of every step, all
// gather what all have computed, and each merges it in the same order (learn::Merger). So the
// weights are those of one process, bit by bit, where the codec is exact.
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
  // What each has given, by rank. All of them call it, equally often.
  std::function<Result<Messages>(std::span<const std::byte>)> gather;
};

// The options as ranks can have them: they keep no checkpoint. One that was asked for, by its file
// or to resume from it, stays, so that train_as_rank() fails.
Options for_ranks(Options options, bool asks_for_checkpoint);

// Blocks until training ends. Only rank 0 evaluates, and writes options.fit.out. A failure of one
// rank fails all, by its message. Fails as check(), the files and the replica do; kUnsupported for
// checkpoints; kInternal, naming the rank, where the weights of one differ.
Result<Figures> train_as_rank(const RankGroup& group, Device& device, const Options& options);

}  // namespace shoal::train_cluster
