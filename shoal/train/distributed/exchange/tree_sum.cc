#include "shoal/train/distributed/exchange/tree_sum.h"

#include <algorithm>
#include <bit>

#include "shoal/train/distributed/codec/kernels.h"

namespace shoal::learn {

std::vector<Subtree> subtrees_of(int64_t begin, int64_t end) {
  std::vector<Subtree> nodes;
  while (begin < end) {
    // As high as the alignment of the first leaf and the number of leaves allow.
    const auto left = static_cast<uint64_t>(end - begin);
    const int fits = std::countl_zero(left) ^ 63;
    const int aligned = begin == 0 ? fits : std::countr_zero(static_cast<uint64_t>(begin));
    const int level = std::min(fits, aligned);
    nodes.push_back({level, begin >> level});
    begin += int64_t{1} << level;
  }
  return nodes;
}

Status TreeSum::add(Subtree node, std::vector<Tensor> tensors) {
  const bool exists = node.level >= 0 && node.level <= levels_ && node.index >= 0 &&
                      node.index < int64_t{1} << (levels_ - node.level);
  if (!exists) return invalid("a sum of micro-batches that the step does not have");
  // Nodes do not overlap, so that only the last that begins before the end can.
  const auto after = nodes_.lower_bound(node.end());
  if (after != nodes_.begin() && std::prev(after)->second.first.end() > node.first()) {
    return invalid("a sum of micro-batches that came twice");
  }
  for (;;) {
    const Subtree sibling{node.level, node.index ^ 1};
    const auto found = nodes_.find(sibling.first());
    if (found == nodes_.end() || found->second.first != sibling) break;
    // IEEE sums are commutative: either may be the left one.
    add_tensors(tensors, found->second.second);
    nodes_.erase(found);
    node = {node.level + 1, node.index >> 1};
  }
  nodes_.emplace(node.first(), std::pair(node, std::move(tensors)));
  return {};
}

int64_t TreeSum::leaves() const {
  int64_t count = 0;
  for (const auto& [first, node] : nodes_) count += node.first.end() - node.first.first();
  return count;
}

void add_tensors(std::span<Tensor> to, std::span<const Tensor> from) {
  SHOAL_CHECK(to.size() == from.size());
  for (size_t i = 0; i < to.size(); ++i) {
    add_scaled(to[i].data<float>(), 1, from[i].data<float>());
  }
}

void scale_tensors(std::span<Tensor> tensors, float factor) {
  for (Tensor& tensor : tensors) {
    for (float& x : tensor.data<float>()) x *= factor;
  }
}

}  // namespace shoal::learn
