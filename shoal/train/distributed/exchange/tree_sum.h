// TreeSum: a sum of tensors by a fixed binary tree, so that its bits do not depend on who adds
// what.
//
// Leaves are numbered 0 .. 2^levels - 1. A node of the tree is the sum of its two children, in f32.
// A worker that has all leaves below a node can compute it alone, and gets the bits that any other
// would get. So workers that share the leaves send the nodes they can compute, and the hub computes
// the rest: the root is the same for one worker and for eight.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::learn {

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
  // The nodes of which no parent can be computed yet, by their first leaf. One if it is complete.
  const std::map<int64_t, std::pair<Subtree, std::vector<Tensor>>>& nodes() const { return nodes_; }
  void clear() { nodes_.clear(); }

 private:
  int levels_;
  std::map<int64_t, std::pair<Subtree, std::vector<Tensor>>> nodes_;
};

// to += from, tensor by tensor. REQUIRES: the same f32 types.
void add_tensors(std::span<Tensor> to, std::span<const Tensor> from);
void scale_tensors(std::span<Tensor> tensors, float factor);

}  // namespace shoal::learn
