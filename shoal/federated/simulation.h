// Simulation: federated learning by simulated clients, round after round.
//
// A round invites clients, asks each for its local steps, leaves out who does not report, merges
// the rest and evaluates. Who comes how far by the deadline is decided in virtual time
// (population.h); the local steps are real. Several clients may learn at once: what they learn is
// merged in an order that the round's plan decides, so that the result is a function of network,
// data and options, bit by bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/thread_pool.h"
#include "shoal/device/device.h"
#include "shoal/federated/client_codecs.h"
#include "shoal/federated/local_trainer.h"
#include "shoal/federated/population.h"
#include "shoal/federated/shards.h"
#include "shoal/federated/strategy.h"
#include "shoal/fit/evaluation.h"
#include "shoal/fit/network.h"
#include "shoal/fit/training_data.h"
#include "shoal/fit/training_options.h"

namespace shoal::federated {

struct Options {
  // Of the network, the data and the local optimiser; `epochs` are those of a client in a round.
  // The rate's schedule goes by rounds.
  fit::TrainingOptions fit = {};
  Strategy strategy = {};
  Population population = {};  // its number of clients and seed are those of the shards, too
  ShardOptions shards = {};
  int64_t rounds = 100;
  size_t per_round = 10;       // clients that are invited
  int64_t local_steps = 0;     // of a client, in place of epochs; 0: epochs
  int64_t evaluate_every = 1;  // rounds; the last one is evaluated in any case
  double target_top1 = 0;      // in percent: a round that reaches it is the last; 0: none
  int threads = 1;             // clients that learn at once; no influence on the result
  // How clients send what they learned (client_codecs.h). kF32: their weights, as they are.
  learn::CodecKind codec = learn::CodecKind::kF32;
};

// kInvalidArgument for options without a meaning; kUnsupported for what clients cannot do: a
// teacher, patience, resuming.
Status check(const Options& options);

// What became of a round.
struct RoundReport {
  int64_t round = 0;  // from 1
  size_t invited = 0;
  size_t reported = 0;    // whose work was merged
  size_t stragglers = 0;  // that had not done all by the deadline, whether their work was taken
  size_t left = 0;        // that never reported
  size_t failed = 0;      // whose loss or weights were no numbers
  double loss = 0;        // mean of those that reported
  double seconds = 0;     // virtual: until the last one reported, or the deadline
  double bytes = 0;       // to all clients, weights as f32, and from them, by the codec
  double top1 = -1;       // of the held-out examples, in percent; -1: not evaluated
};

// Sums of a run.
struct Figures {
  int64_t rounds = 0;  // done
  size_t invited = 0, reported = 0, stragglers = 0, left = 0, failed = 0;
  double bytes = 0;
  learn::CodecKind codec = learn::CodecKind::kF32;  // by which they sent it: client_codecs.h
  double report_bytes = 0;                          // of what one client sends in a round
  double virtual_seconds = 0;
  double loss = 0;               // of the last round
  double best_top1 = 0;          // of the rounds that were evaluated
  double training_share = 0;     // of the time of all threads: local steps, data included
  double bookkeeping_share = 0;  // of that time: inviting, shards, merging
  fit::Evaluation evaluation = {};
  std::vector<RoundReport> history = {};
};

// Not thread-safe.
class Simulation {
 public:
  struct Devices {
    Device& clients;  // of one thread: clients learn on as many threads as the options say
    Device& server;   // evaluates
  };

  // Fails as check(), the networks, the data and the device do. REQUIRES: the devices outlive this.
  static Result<std::unique_ptr<Simulation>> create(Devices devices,
                                                    const fit::NetworkForBatch& network,
                                                    const fit::TrainingData& data,
                                                    const Options& options);

  // The next round. Fails as the data and the device do; a client that fails is left out.
  Result<RoundReport> round();
  bool is_over() const;

  const Weights& weights() const { return server_->weights(); }
  const Shards& shards() const { return *shards_; }
  const Figures& figures() const { return figures_; }

 private:
  Simulation(Devices devices, const fit::TrainingData& data, const Options& options)
      : devices_(devices),
        data_(data),
        options_(options),
        pool_(std::min(options.threads,
                       static_cast<int>(std::min(options.per_round, kMostThreads)))) {}

  static constexpr size_t kMostThreads = 1024;

  // A client that reports.
  struct Task {
    uint64_t client = 0;
    int64_t steps = 0;
    size_t examples = 0;
  };
  class Delivery;

  Status prepare(const fit::NetworkForBatch& network);
  std::vector<Task> plan(RoundReport& report) const;
  Status learn(const Task& task, size_t place, int slot, Delivery& delivery);
  Status evaluate(RoundReport& report);
  double bytes_of_report() const;
  void count(const RoundReport& report);

  Devices devices_;
  fit::TrainingData data_;
  Options options_;
  ThreadPool pool_;
  std::vector<LocalTrainer> trainers_;  // one per thread of the pool
  Graph evaluated_;                     // the network for larger batches
  Batches::Prepare prepare_image_;
  BatchOptions batches_;
  train::Schedule schedule_;
  std::unique_ptr<Shards> shards_;
  std::unique_ptr<Server> server_;
  std::optional<ClientCodecs> codecs_;  // nothing: weights travel as they are
  Figures figures_;
  double training_seconds_ = 0, bookkeeping_seconds_ = 0, evaluation_seconds_ = 0;
};

struct Callbacks {
  std::function<void(const RoundReport&)> on_round = [](const RoundReport&) {};
  std::function<bool()> cancelled = [] { return false; };
};

struct Outcome {
  Figures figures;
  Weights weights;
};

// Opens model and data of options.fit, runs all rounds, and writes options.fit.out, if there is
// one, unless it was cancelled. Blocks until then. Fails as Simulation and the files do.
Result<Outcome> train(Simulation::Devices devices, const Options& options,
                      const Callbacks& callbacks = {});

}  // namespace shoal::federated
