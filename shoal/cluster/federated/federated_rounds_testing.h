// Options and data that federated rounds and their simulation are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "shoal/cluster/federated/run_rounds.h"
#include "shoal/train/federated/simulation.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::federated_cluster::testing {

inline federated::Options small_options(std::string_view strategy, uint64_t clients,
                                        size_t per_round) {
  federated::Options options{.strategy = *federated::find_strategy(strategy),
                             .population = {.clients = clients},
                             .shards = {.least = 12},
                             .rounds = 3,
                             .per_round = per_round};
  options.fit.epochs = 2;
  options.fit.batch = 5;
  options.fit.optimizer = {.rate = 0.05f, .momentum = 0.9f};
  options.fit.schedule = train::Schedule::Kind::kCosine;
  options.fit.augment.shift = 1;
  options.population.deadline = 600;
  options.population.step_seconds = 1e-3;
  return options;
}

inline Result<LoadedGraph> small_network(int64_t batch) {
  return LoadedGraph{fit::testing::make_network(batch), {"scores"}};
}

inline fit::TrainingData small_data() {
  return {std::make_shared<fit::testing::Rows>(240), std::make_shared<fit::testing::Rows>(40, 99)};
}

// What simulated clients learn, and the data that each of them had.
struct Simulated {
  federated::Weights weights;
  federated::Figures figures;
  std::vector<std::shared_ptr<const Dataset>> shards;
};

inline Simulated simulate(Device& device, const federated::Options& options, bool learn = true) {
  const fit::TrainingData data = small_data();
  auto made = federated::Simulation::create({device, device}, small_network, data, options);
  SHOAL_CHECK(made.ok());
  federated::Simulation& simulation = **made;
  while (learn && !simulation.is_over()) SHOAL_CHECK(simulation.round().ok());
  Simulated result{simulation.weights(), simulation.figures(), {}};
  for (uint64_t client = 0; client < options.population.clients; ++client) {
    result.shards.push_back(make_subset(data.training, simulation.shards().of(client)));
  }
  return result;
}

// The data of each simulated client; none of them learns.
inline std::vector<std::shared_ptr<const Dataset>> shards_of(Device& device,
                                                             const federated::Options& options) {
  return simulate(device, options, /*learn=*/false).shards;
}

inline double largest_difference(const federated::Weights& a, const federated::Weights& b) {
  double most = 0;
  for (const auto& [name, tensor] : a) {
    const auto x = tensor.data<float>(), y = b.at(name).data<float>();
    for (size_t i = 0; i < x.size(); ++i) most = std::max<double>(most, std::abs(x[i] - y[i]));
  }
  return most;
}

}  // namespace shoal::federated_cluster::testing
