// Course: the server's state between the rounds of a federated run: the network, its evaluation,
// the rate of the round, and the figures. It is the same for simulated clients and for workers of a
// cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/federated/federated_options.h"
#include "shoal/train/federated/strategy.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/optimizer/schedule.h"

namespace shoal::federated {

// Not thread-safe.
class Course {
 public:
  // Where the run begins.
  struct Start {
    const Weights& weights;
    const std::vector<std::string>& learned;  // the weights that an outer optimiser steps
  };

  // `held_out` may be null: nothing is evaluated. Fails as the network does. REQUIRES:
  // check(options) is OK, and options and device outlive this.
  static Result<Course> create(Device& device, const fit::NetworkForBatch& network,
                               std::shared_ptr<const Dataset> held_out, const Options& options,
                               const Start& start);

  const Weights& weights() const { return server_.weights(); }
  int64_t rounds() const { return figures_.rounds; }  // that are done
  double rate_factor() const { return factor_at(schedule_, figures_.rounds); }
  Merger begin_round() const { return server_.begin_round(); }

  // Takes what clients of the round have learned: all that was added, or a mean of it.
  Status merge(const Merger& merger) { return server_.end_round(merger); }
  // The same of reports that nobody may see. Without enough of them nothing changes.
  Status merge_secretly(std::span<const std::optional<ClientReport>> reports, RoundReport& report);
  Status merge(SecretMean mean, RoundReport& report);

  // Evaluates where that is due, and counts the round.
  Status finish(RoundReport& report);
  bool is_over() const;
  const Figures& figures() const { return figures_; }
  double evaluation_seconds() const { return evaluation_seconds_; }

 private:
  Course(Device& device, const Options& options, const Start& start)
      : device_(device),
        options_(options),
        server_(options.strategy, start.weights, start.learned) {}
  Status evaluate(RoundReport& report);
  void count(const RoundReport& report);

  Device& device_;
  const Options& options_;
  Server server_;
  Graph evaluated_;  // the network for larger batches
  Batches::Prepare prepare_image_;
  int64_t classes_ = 0;
  std::shared_ptr<const Dataset> held_out_;
  train::Schedule schedule_;
  Figures figures_;
  double evaluation_seconds_ = 0;
};

}  // namespace shoal::federated
