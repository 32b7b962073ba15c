// The defaults of FedProx (arXiv 1812.06127): batches of 10, SGD without momentum at a constant
// rate of 0.03.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/text/setting.h"
#include "shoal/train/federated/simulation.h"

namespace shoal::federated {

struct ScenarioSettings {
  Options options = {.population = {.stragglers = 0.9}};  // what needs no reading
  std::string strategy = "fedavg", split = "classes";
  float mu = -1;        // negative: the strategy's default
  double deadline = 0;  // 0: none
  int64_t epochs = 10;
  bool on = false;  // training is federated
  bool secure_sum = false;
  double secure_range = 1;
  size_t least = 1;  // on workers: least reports of a round
};

// All options, with local steps by `fit`. `given` says which of --batch, --momentum, --schedule and
// --rate were given; the others are the scenario's. REQUIRES: the names are valid.
Options resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                const GivenFlags& given_flags);

// The same with a codec by name, and without checkpoints, which rounds lack. kInvalidArgument for
// any other name, as for a codec to be chosen: rounds are not measured before they run.
Result<Options> resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                        const GivenFlags& given, std::string_view codec);

// kInvalidArgument for flags of simulated clients when clients are workers of `network`, and for
// MPI.
Status check_for_workers(const GivenFlags& given, std::string_view network);

}  // namespace shoal::federated
