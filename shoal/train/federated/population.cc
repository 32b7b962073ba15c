#include "shoal/train/federated/population.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "shoal/train/data/batches.h"

namespace shoal::federated {
namespace {

enum Draw : uint64_t { kInvited, kPresent, kStraggles, kLeaves, kSpeed };

// Uniform on [0, 1).
double uniform(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

bool is_share(double share) { return share >= 0 && share <= 1; }

enum ShardDraw : uint64_t { kOrder, kShare };

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

Permutation::Permutation(uint64_t size, RandomStream random) : size_(size), random_(random) {
  SHOAL_CHECK(size > 0);
  half_ = std::max(1u, (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2);
}

// At most three of four numbers of the cipher are not below `size_`, so that few repetitions do.
uint64_t Permutation::operator[](uint64_t i) const {
  constexpr uint64_t kRounds = 4;
  const uint64_t mask = (uint64_t{1} << half_) - 1;
  do {
    uint64_t left = i >> half_, right = i & mask;
    for (uint64_t r = 0; r < kRounds; ++r) {
      const uint64_t mixed = left ^ (random_.child(r)[right] & mask);
      left = right;
      right = mixed;
    }
    i = left << half_ | right;
  } while (i >= size_);
  return i;
}

Status check(const Population& p) {
  constexpr uint64_t kMost = uint64_t{1} << 31;
  if (p.clients == 0 || p.clients > kMost) return invalid("there are 1 to 2^31 clients");
  if (!is_share(p.present) || !is_share(p.stragglers) || !is_share(p.leaving)) {
    return invalid("shares of clients are between 0 and 1");
  }
  const bool has_times = p.step_seconds > 0 && std::isfinite(p.step_seconds) && p.slowest >= 1 &&
                         std::isfinite(p.slowest) && p.deadline > 0;
  return has_times ? Status() : invalid("a step and a round take time");
}

bool is_present(const Population& population, uint64_t round, uint64_t client) {
  // Clients do not come and leave all at once.
  const RandomStream random = RandomStream(population.seed, kPresent).child(client);
  const uint64_t stay = (round + random.below(Population::kStay, 0)) / Population::kStay;
  return uniform(random[stay + 1]) < population.present;
}

std::vector<uint64_t> invite(const Population& population, uint64_t round, size_t count) {
  return invite(population, round, count,
                [&](uint64_t client) { return is_present(population, round, client); });
}

std::vector<uint64_t> invite(const Population& population, uint64_t round, size_t count,
                             const std::function<bool(uint64_t client)>& is_there) {
  const Permutation order(population.clients, RandomStream(population.seed, kInvited).child(round));
  std::vector<uint64_t> invited;
  for (uint64_t i = 0; i < population.clients && invited.size() < count; ++i) {
    const uint64_t client = order[i];
    if (is_there(client)) invited.push_back(client);
  }
  return invited;
}

Conduct conduct_of(const Population& population, uint64_t round, uint64_t client,
                   const LocalWork& work) {
  const double slowness = uniform(RandomStream(population.seed, kSpeed)[client]);
  const double step = population.step_seconds * (1 + (population.slowest - 1) * slowness);
  int64_t steps = work.steps();
  const RandomStream straggles =
      RandomStream(population.seed, kStraggles).child(round).child(client);
  const RandomStream leaves = RandomStream(population.seed, kLeaves).child(round);
  if (work.epochs > 1 && uniform(straggles[0]) < population.stragglers) {
    const auto epochs = 1 + straggles.below(static_cast<uint64_t>(work.epochs - 1), 1);
    steps = static_cast<int64_t>(epochs) * work.steps_per_epoch;
  }
  const double in_time = std::floor(population.deadline / step);
  if (in_time < static_cast<double>(steps)) steps = static_cast<int64_t>(in_time);
  return {.steps = steps,
          .is_late = steps < work.steps(),
          .leaves = uniform(leaves[client]) < population.leaving,
          .seconds = std::min(population.deadline, step * static_cast<double>(work.steps()))};
}

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
