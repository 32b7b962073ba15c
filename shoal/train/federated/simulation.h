// Simulation: federated learning by simulated clients, round after round.
//
// A round invites clients, runs their local steps, drops those that do not report, merges the rest
// and evaluates. Virtual time decides how far each comes by the deadline (population.h); local
// steps are real. Several clients may train at once; the merge order is fixed by the round's plan,
// so the result is a function of network, data and options, bit by bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/federated/federated_options.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/federated/population.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::federated {

// Not thread-safe.
class Simulation {
 public:
  struct Devices {
    Device& clients;  // of one thread: clients train on as many threads as the options say
    Device& server;   // evaluates
  };

  // Fails as check(), the networks, the data and the device do. REQUIRES: the devices outlive this.
  static Result<std::unique_ptr<Simulation>> create(Devices devices,
                                                    const fit::NetworkForBatch& network,
                                                    const fit::TrainingData& data,
                                                    const Options& options);

  // The next round. Fails as the data and the device do; a client that fails is left out.
  Result<RoundReport> round();
  bool is_over() const { return course_->is_over(); }

  const Weights& weights() const { return course_->weights(); }
  const Shards& shards() const { return *shards_; }
  Figures figures() const;

 private:
  Simulation(Devices devices, const fit::TrainingData& data, const Options& options)
      : devices_(devices),
        data_(data),
        options_(options),
        pool_(std::min(options.threads,
                       static_cast<int>(std::min(options.per_round, kMostThreads)))) {}

  static constexpr size_t kMostThreads = 1024;

  struct Task {
    uint64_t client = 0;
    size_t seat = 0;  // index among the invited
    int64_t steps = 0;
    size_t examples = 0;
  };
  class Delivery;

  Status prepare(const fit::NetworkForBatch& network);
  std::vector<Task> plan(RoundReport& report) const;
  Status learn(const Task& task, size_t place, int slot, Delivery& delivery);
  Status merge(const Delivery& delivery, RoundReport& report);
  double bytes_of_report() const;

  Devices devices_;
  fit::TrainingData data_;
  Options options_;
  ThreadPool pool_;
  std::vector<LocalTrainer> trainers_;  // one per thread of the pool
  Batches::Prepare prepare_image_;
  BatchOptions batches_;
  std::unique_ptr<Shards> shards_;
  std::optional<Course> course_;
  std::optional<ClientCodecs> codecs_;  // nullopt: plain weights
  double training_seconds_ = 0, bookkeeping_seconds_ = 0;
};

struct Callbacks {
  std::function<void(const RoundReport&)> on_round = [](const RoundReport&) {};
  std::function<bool()> cancelled = [] { return false; };
};

struct Outcome {
  Figures figures;
  Weights weights;
};

// Opens model and data of options.fit, runs all rounds, and writes options.fit.out, if set, unless
// cancelled. Blocks until then. Fails as Simulation and the files do.
Result<Outcome> train(Simulation::Devices devices, const Options& options,
                      const Callbacks& callbacks = {});

}  // namespace shoal::federated
