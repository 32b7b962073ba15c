#include "shoal/shrink/choice.h"

namespace shoal::shrink {

const Removal* milder(const Choice& choice, double drop, double most) {
  const std::vector<Removal>& rounds = choice.rounds;
  const double part = drop > most ? most / drop : 0.5;
  auto number = static_cast<size_t>(part * static_cast<double>(rounds.size()));
  // Few units make rounds that remove no more than the one before.
  while (number > 0 && rounds[number - 1].units.size() >= rounds.back().units.size()) --number;
  if (number == 0 || rounds[number - 1].units.empty()) return nullptr;
  return &rounds[number - 1];
}

}  // namespace shoal::shrink
