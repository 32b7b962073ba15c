#include "shoal/shrink/prune/choice.h"

namespace shoal::shrink {

const Removal* milder(const Choice& choice, double drop, double most) {
  const std::vector<Removal>& rounds = choice.rounds;
  const double part = drop > most ? most / drop : 0.5;
  auto number = static_cast<size_t>(part * static_cast<double>(rounds.size()));
  // Few units make rounds that remove no more than the one before.
  const Removal& last = rounds.back();
  const auto is_as_much = [&](const Removal& one) {
    return one.units.size() >= last.units.size() && one.ranks == last.ranks;
  };
  while (number > 0 && is_as_much(rounds[number - 1])) --number;
  if (number == 0) return nullptr;
  const Removal& less = rounds[number - 1];
  if (less.units.empty() && less.ranks.empty()) return nullptr;
  return &rounds[number - 1];
}

}  // namespace shoal::shrink
