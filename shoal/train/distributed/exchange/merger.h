// Merger: the hub's arithmetic. Contributions of a step come in, in any order; one message for all
// replicas goes out.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/distributed/exchange/step_codec.h"

namespace shoal::learn {

// TreeSum: a sum of tensors by a fixed binary tree, so that its bits do not depend on the order.
//
// Leaves are numbered 0 .. 2^levels - 1. A node of the tree is the sum of its two children, in f32.
// A worker that has all leaves below a node can compute it alone, and gets the bits that any other
// would get. So workers that share the leaves send the nodes they can compute, and the hub computes
// the rest: the root is the same for one worker and for eight.

// A node: the leaves [index << level, (index + 1) << level).
struct Subtree {
  int level = 0;
  int64_t index = 0;

  int64_t first() const { return index << level; }
  int64_t end() const { return (index + 1) << level; }
  friend bool operator==(const Subtree&, const Subtree&) = default;
};

// The fewest nodes that have the leaves [begin, end) below them and no others, in order: at most
// two per level. REQUIRES: 0 <= begin <= end.
std::vector<Subtree> subtrees_of(int64_t begin, int64_t end);

// Not thread-safe.
class TreeSum {
 public:
  // REQUIRES: 0 <= levels <= 30.
  explicit TreeSum(int levels) : levels_(levels) {}

  // Adds a node, whose tensors become those of the sum: the caller gives them away. Fails with
  // kInvalidArgument where the tree has no such node, or has some of its leaves. REQUIRES: tensors
  // of all nodes have the same f32 types.
  Status add(Subtree node, std::vector<Tensor> tensors);

  int64_t leaves() const;  // added so far
  bool is_complete() const { return leaves() == int64_t{1} << levels_; }
  // The nodes without a parent that can be computed yet, by their first leaf. One if it is
  // complete.
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

  // Whether the contributions of the step that begins, and its message, have statistics. They do
  // unless this was called. REQUIRES: none was added yet.
  void begin_step(bool with_statistics) { with_statistics_ = with_statistics; }
  // A worker's part of the step. kCorrupt or kInvalidArgument, and the step is as it was, for
  // micro-batches that the step does not have or has had, and bytes that no replica has written.
  Status add(const Contribution& contribution);
  int64_t micro_batches() const { return leaves_; }  // of this step, that have come
  bool is_complete() const { return leaves_ == exchange_.micro_batches(); }

  struct Merged {
    double loss = 0;  // the mean over the micro-batches that have come
    std::vector<std::byte> message;
  };
  // The mean over what has come, encoded; what the codec loses is in the next. Then a new step
  // begins. Fails with kInvalidArgument where nothing has come, or a sum is no number: abandon it.
  // Where the codec is exact and all micro-batches have come, the message does not depend on who
  // sent them.
  Result<Merged> finish();
  void abandon();  // begins the step again

  // Of what it sends; its state belongs to a checkpoint.
  StepCodec& codec() { return codec_; }
  const StepCodec& codec() const { return codec_; }

 private:
  Merger(StepCodec codec, const ExchangeOptions& exchange)
      : exchange_(exchange), codec_(std::move(codec)), sum_(exchange.levels) {}
  Status add_nodes(const Contribution& contribution);

  ExchangeOptions exchange_;
  StepCodec codec_;
  TreeSum sum_;                                   // of an exact codec
  std::map<int64_t, std::vector<Tensor>> parts_;  // of another, by the first micro-batch
  std::map<int64_t, int64_t> ranges_;             // that have come: first and end
  std::map<int64_t, double> losses_;              // by the first micro-batch
  int64_t leaves_ = 0;
  bool with_statistics_ = true;
};

}  // namespace shoal::learn
