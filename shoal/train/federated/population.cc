#include "shoal/train/federated/population.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shoal::federated {
namespace {

enum Draw : uint64_t { kInvited, kPresent, kStraggles, kLeaves, kSpeed };

// Uniform on [0, 1).
double uniform(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

bool is_share(double share) { return share >= 0 && share <= 1; }

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

}  // namespace shoal::federated
