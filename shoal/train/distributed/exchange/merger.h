// Merger: the hub's arithmetic. Merges the contributions to a step, in any order, into one message
// for all replicas.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/distributed/exchange/step_codec.h"

namespace shoal::learn {

// TreeSum: a sum of tensors by a fixed binary tree; its bits do not depend on the order of arrival.
//
// Leaves are numbered 0 .. 2^levels - 1. A node is the f32 sum of its two children. A worker that
// has all leaves below a node computes it alone, with the bits any other would get; the hub
// computes the rest. So the root is the same for one worker and for eight.

// A node: the leaves [index << level, (index + 1) << level).
struct Subtree {
  int level = 0;
  int64_t index = 0;

  int64_t first() const { return index << level; }
  int64_t end() const { return (index + 1) << level; }
  friend bool operator==(const Subtree&, const Subtree&) = default;
};

// The fewest nodes that cover exactly the leaves [begin, end), in order: at most two per level.
// REQUIRES: 0 <= begin <= end.
std::vector<Subtree> subtrees_of(int64_t begin, int64_t end);

// Not thread-safe.
class TreeSum {
 public:
  // REQUIRES: 0 <= levels <= 30.
  explicit TreeSum(int levels) : levels_(levels) {}

  // Adds a node; the caller gives its tensors away. kInvalidArgument if the tree has no such node,
  // or has some of its leaves. REQUIRES: tensors of all nodes have the same f32 types.
  Status add(Subtree node, std::vector<Tensor> tensors);

  int64_t leaves() const;  // added so far
  bool is_complete() const { return leaves() == int64_t{1} << levels_; }
  // The nodes that have no computed parent, by their first leaf; one if the sum is complete.
  const std::map<int64_t, std::pair<Subtree, std::vector<Tensor>>>& nodes() const { return nodes_; }
  void clear() { nodes_.clear(); }

 private:
  int levels_;
  std::map<int64_t, std::pair<Subtree, std::vector<Tensor>>> nodes_;
};

// to += from, tensor by tensor. REQUIRES: the same f32 types.
void add_tensors(std::span<Tensor> to, std::span<const Tensor> from);
void scale_tensors(std::span<Tensor> tensors, float factor);

// Not thread-safe.
class Merger {
 public:
  static Result<Merger> create(const ExchangeOptions& exchange, const StepTypes& types);

  // Whether contributions and message of the next step have statistics; true unless called.
  // REQUIRES: nothing was added yet.
  void begin_step(bool with_statistics) { with_statistics_ = with_statistics; }
  // Adds a worker's contribution. kCorrupt or kInvalidArgument, and nothing changes, for
  // micro-batches that are not of the step or were added, and for bytes that no replica writes.
  Status add(const Contribution& contribution);
  int64_t micro_batches() const { return leaves_; }  // of this step, received
  bool is_complete() const { return leaves_ == exchange_.micro_batches(); }

  struct Merged {
    double loss = 0;  // mean over the received micro-batches
    std::vector<std::byte> message;
  };
  // The encoded mean of what was received; the codec's error goes into the next. Begins a new step.
  // kInvalidArgument if nothing was received, or a sum is NaN: call abandon(). With an exact codec
  // and all micro-batches, the message does not depend on which worker sent which.
  Result<Merged> finish();
  void abandon();  // restarts the step

  // The codec of merged messages; a checkpoint has its state.
  StepCodec& codec() { return codec_; }
  const StepCodec& codec() const { return codec_; }

 private:
  Merger(StepCodec codec, const ExchangeOptions& exchange)
      : exchange_(exchange), codec_(std::move(codec)), sum_(exchange.levels) {}
  Status add_nodes(const Contribution& contribution);

  ExchangeOptions exchange_;
  StepCodec codec_;
  TreeSum sum_;                                   // with an exact codec
  std::map<int64_t, std::vector<Tensor>> parts_;  // with any other, by first micro-batch
  std::map<int64_t, int64_t> ranges_;             // received: first and end
  std::map<int64_t, double> losses_;              // by the first micro-batch
  int64_t leaves_ = 0;
  bool with_statistics_ = true;
};

}  // namespace shoal::learn
