#include "shoal/train/federated/shards.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "shoal/base/math/random.h"
#include "shoal/train/data/batches.h"

namespace shoal::federated {
namespace {

enum Draw : uint64_t { kOrder, kShare };

// exp(deviation z), z standard normal by the method of Box and Muller.
double lognormal(RandomStream random, double deviation) {
  const double u = static_cast<double>((random[0] >> 11) + 1) * 0x1p-53;
  const double v = static_cast<double>(random[1] >> 11) * 0x1p-53;
  return std::exp(deviation * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

Status check(size_t examples, const ShardOptions& options) {
  constexpr uint64_t kMostClients = uint64_t{1} << 31;
  if (examples == 0 || examples > std::numeric_limits<uint32_t>::max()) {
    return invalid("clients need examples, fewer than 2^32");
  }
  if (options.clients == 0 || options.clients > kMostClients) {
    return invalid("there are 1 to 2^31 clients");
  }
  if (options.classes == 0 || options.least == 0 || options.least > examples) {
    return invalid("a client has a class and an example at least, and no more than there are");
  }
  const bool is_width = options.deviation >= 0 && options.deviation <= 10;
  return is_width ? Status() : invalid("the deviation of shares is between 0 and 10");
}

}  // namespace

Result<Shards> Shards::create(std::span<const int64_t> labels, const ShardOptions& options) {
  SHOAL_TRY(check(labels.size(), options));
  Shards shards;
  for (size_t example : shuffled(labels.size(), RandomStream(options.seed, kOrder))) {
    shards.order_.push_back(static_cast<uint32_t>(example));
  }
  if (options.split == ShardOptions::Split::kIid) {
    shards.piece_ = std::max<size_t>(labels.size() / options.clients, options.least);
    return shards;
  }
  std::ranges::stable_sort(shards.order_, {}, [&](uint32_t example) { return labels[example]; });
  for (size_t i = 0; i < shards.order_.size(); ++i) {
    const bool begins = i == 0 || labels[shards.order_[i]] != labels[shards.order_[i - 1]];
    if (begins) shards.begins_.push_back(i);
  }
  if (shards.begins_.size() < options.classes) {
    return invalid("clients have " + std::to_string(options.classes) + " classes, the data has " +
                   std::to_string(shards.begins_.size()));
  }
  shards.begins_.push_back(shards.order_.size());
  shards.parts_per_client_ = options.classes;
  shards.deal_classes(options);
  return shards;
}

// Shares are drawn twice, to be summed and to be dealt, and not kept.
void Shards::deal_classes(const ShardOptions& options) {
  const size_t classes = begins_.size() - 1;
  const uint64_t least = std::max<uint64_t>(options.least / options.classes, 1);
  const RandomStream random(options.seed, kShare);
  const auto for_parts = [&](const auto& visit) {
    for (uint64_t client = 0; client < options.clients; ++client) {
      for (size_t j = 0; j < options.classes; ++j) {
        visit((client + j) % classes, lognormal(random.child(client).child(j), options.deviation));
      }
    }
  };
  std::vector<double> sums(classes), left(classes);
  std::vector<uint64_t> dealt(classes);
  for_parts([&](size_t c, double share) {
    sums[c] += share;
    dealt[c] += least;
  });
  for (size_t c = 0; c < classes; ++c) {
    const auto size = static_cast<double>(begins_[c + 1] - begins_[c]);
    left[c] = std::max(0.0, size - static_cast<double>(dealt[c]));
    dealt[c] = 0;
  }
  parts_.reserve(options.clients * options.classes);
  for_parts([&](size_t c, double share) {
    const size_t size = begins_[c + 1] - begins_[c];
    const auto more = static_cast<uint64_t>(left[c] * share / sums[c]);
    const uint64_t count = std::min<uint64_t>(least + more, size);
    parts_.push_back({static_cast<uint32_t>(dealt[c] % size), static_cast<uint32_t>(count)});
    dealt[c] += count;
  });
}

size_t Shards::size_of(uint64_t client) const {
  if (parts_per_client_ == 0) return piece_;
  size_t size = 0;
  for (size_t j = 0; j < parts_per_client_; ++j)
    size += parts_[client * parts_per_client_ + j].count;
  return size;
}

std::vector<size_t> Shards::of(uint64_t client) const {
  std::vector<size_t> examples;
  examples.reserve(size_of(client));
  if (parts_per_client_ == 0) {
    for (size_t i = 0; i < piece_; ++i) {
      examples.push_back(order_[(client * piece_ + i) % order_.size()]);
    }
    return examples;
  }
  const size_t classes = begins_.size() - 1;
  for (size_t j = 0; j < parts_per_client_; ++j) {
    const Part& part = parts_[client * parts_per_client_ + j];
    const size_t c = (client + j) % classes;
    const size_t begin = begins_[c], size = begins_[c + 1] - begin;
    for (size_t i = 0; i < part.count; ++i) {
      examples.push_back(order_[begin + (part.begin + i) % size]);
    }
  }
  return examples;
}

}  // namespace shoal::federated
