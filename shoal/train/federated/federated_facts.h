// Federated training as facts, and rounds in words.
#pragma once

#include <string>

#include "shoal/base/text/facts.h"
#include "shoal/train/federated/federated_options.h"

namespace shoal::federated {

// What is told of a run besides its figures.
struct RunFacts {
  std::string strategy = {};
  uint64_t clients = 0;
  size_t per_round = 0;
  double seconds = 0;               // that it took
  std::string weights_sha256 = {};  // of what was learned
  bool secret = false;              // reports were hidden
};
Facts facts_of(const Figures& figures, const RunFacts& run);

// A round on one line.
std::string text_of(const RoundReport& round);

}  // namespace shoal::federated
