// Federated rounds on the workers of a cluster, as `shoal train --federated --cluster` runs them:
// the coordinator is the server, and each worker that has data (`shoal worker --data`) is a client.
// Weights go out and come back; no example leaves a worker.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/cluster/federated/round_hub.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::federated_cluster {

struct RunOptions {
  HubOptions hub = {};  // without the number of clients, which the cluster has
  // Between two attempts to reach lost workers.
  std::chrono::milliseconds retry_interval{200};
  std::function<void(const federated::RoundReport&)> on_round = [](const auto&) {};
  std::function<void(const Status& why)> on_loss = [](const Status&) {};  // of a worker
  std::function<bool()> cancelled = [] { return false; };
};

struct Outcome {
  federated::Figures figures;
  federated::Weights weights;
  std::vector<Status> lost = {};  // workers that were, or have no part, and why
};

// Blocks until all rounds are done, or cancelled. `held_out` may be null: nothing is evaluated.
// `device` evaluates. Fails as check(), the network and the hub do, and with the first worker's
// error if none takes part.
Result<Outcome> run_rounds(cluster::Coordinator& coordinator, Device& device,
                           const fit::NetworkForBatch& network,
                           std::shared_ptr<const Dataset> held_out, const RunOptions& options);

// Likewise with the model of options.hub.rounds.fit, evaluated on the held-out examples of its data
// if it names some. Writes fit.out, if there is one, unless it was cancelled.
Result<Outcome> train(cluster::Coordinator& coordinator, Device& device, const RunOptions& options);

}  // namespace shoal::federated_cluster
