// Sums do not depend on the order of arrival. With an exact codec a fixed tree adds them; otherwise
// contributions are added in the order of micro-batches.
#include "shoal/train/distributed/exchange/merger.h"

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
    const auto position = nodes_.find(sibling.first());
    if (position == nodes_.end() || position->second.first != sibling) break;
    // IEEE sums are commutative: either may be the left one.
    add_tensors(tensors, position->second.second);
    nodes_.erase(position);
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

Result<Merger> Merger::create(const ExchangeOptions& exchange, const StepTypes& types) {
  CodecOptions codec = exchange.codec;
  codec.momentum = 0;  // the workers' gradients have theirs already
  SHOAL_ASSIGN(StepCodec step_codec, StepCodec::create(codec, types));
  return Merger(std::move(step_codec), exchange);
}

// All nodes are decoded before the first is added, so that a corrupt one leaves no trace.
Status Merger::add_nodes(const Contribution& contribution) {
  std::span<const std::byte> message = contribution.message;
  const std::vector<Subtree> nodes = codec_.is_exact()
                                         ? subtrees_of(contribution.first, contribution.end)
                                         : std::vector<Subtree>(1);
  const size_t bytes = codec_.bytes(with_statistics_);
  if (message.size() != nodes.size() * bytes) {
    return Status(Code::kCorrupt, "a contribution of " + std::to_string(message.size()) +
                                      " bytes, should have " +
                                      std::to_string(nodes.size() * bytes));
  }
  std::vector<std::vector<Tensor>> decoded;
  for (size_t i = 0; i < nodes.size(); ++i) {
    SHOAL_ASSIGN(std::vector<Tensor> tensors,
                 codec_.decode(message.subspan(i * bytes, bytes), with_statistics_));
    decoded.push_back(std::move(tensors));
  }
  if (!codec_.is_exact()) {
    parts_[contribution.first] = std::move(decoded[0]);
    return {};
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    SHOAL_TRY(sum_.add(nodes[i], std::move(decoded[i])));
  }
  return {};
}

Status Merger::add(const Contribution& contribution) {
  const auto [first, end] = std::pair(contribution.first, contribution.end);
  if (first < 0 || first >= end || end > exchange_.micro_batches()) {
    return invalid("a contribution of micro-batches that the step does not have");
  }
  const auto after = ranges_.lower_bound(end);
  if (after != ranges_.begin() && std::prev(after)->second > first) {
    return invalid("a contribution of micro-batches that came twice");
  }
  SHOAL_TRY(add_nodes(contribution));
  ranges_[first] = end;
  losses_[first] = contribution.loss;
  leaves_ += end - first;
  return {};
}

Result<Merger::Merged> Merger::finish() {
  if (leaves_ == 0) return invalid("there is nothing to merge");
  std::vector<Tensor> total;
  const auto add_part = [&](const std::vector<Tensor>& tensors) {
    if (total.empty()) {
      total = tensors;
    } else {
      add_tensors(total, tensors);
    }
  };
  for (const auto& [first, node] : sum_.nodes()) add_part(node.second);
  for (const auto& [first, tensors] : parts_) add_part(tensors);
  const double factor =
      static_cast<double>(exchange_.micro_batches()) / static_cast<double>(leaves_);
  if (!is_complete()) scale_tensors(total, static_cast<float>(factor));
  Merged merged;
  for (const auto& [first, loss] : losses_) merged.loss += loss * factor;
  SHOAL_TRY(codec_.encode(total, merged.message, with_statistics_));
  abandon();
  return merged;
}

void Merger::abandon() {
  sum_.clear();
  parts_.clear();
  ranges_.clear();
  losses_.clear();
  leaves_ = 0;
}

}  // namespace shoal::learn
