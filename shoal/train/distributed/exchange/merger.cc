// Sums are taken in the order of the micro-batches and not of arrival. With an exact codec a fixed
// tree adds them; with another, contributions are added one after the other.
#include "shoal/train/distributed/exchange/merger.h"

namespace shoal::learn {

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
