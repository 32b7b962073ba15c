// Options of a federated run, and what becomes of its rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/federated/population.h"
#include "shoal/train/federated/strategy.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/run/setup/training_options.h"
#include "shoal/train/step/optimizer/schedule.h"

namespace shoal::federated {

// A mean of what clients learned; the server sees no single client's part. The server of a
// round calls it; secure_sum does the work (cluster/federated/secure_mean.h).

// What a client has at the end of a round.
struct ClientReport {
  Weights weights = {};
  int64_t examples = 0;
};

// The cost of hiding reports from the server.
struct SecretCost {
  double bytes = 0;           // to and from the client that had most, without the network itself
  double plain_bytes = 0;     // of a report without it
  double client_seconds = 0;  // of a processor, in the mean
  double server_seconds = 0;
};

struct SecretMean {
  Weights weights = {};
  size_t clients = 0;  // in it
  size_t clamped = 0;  // elements of theirs that were beyond the range of the sum
  SecretCost cost = {};
};

// The mean, by examples, of the reports of a round's clients that went from `from`. Nothing in the
// place of a client: it dropped out when it was to send its report. kUnavailable where too few are
// left for a sum that hides each of them.
using MergeSecretly = std::function<Result<SecretMean>(
    uint64_t round, const Weights& from, std::span<const std::optional<ClientReport>> reports)>;

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
  // How clients send what they learned (local_trainer.h). kF32: their weights, as they are.
  learn::CodecKind codec = learn::CodecKind::kF32;
  // Merges what clients learned unseen. Null: the server sees what each of them sends.
  MergeSecretly merge_secretly = {};
};

// kInvalidArgument for options without a meaning; kUnsupported for what clients cannot do: a
// teacher, patience, resuming.
Status check(const Options& options);
// kUnsupported for what a sum that hides its parts cannot do: strategies that compare clients, and
// codecs.
Status check_secret(const Strategy& strategy, learn::CodecKind codec, size_t per_round);

// What became of a round.
struct RoundReport {
  int64_t round = 0;  // from 1
  size_t invited = 0;
  size_t reported = 0;    // whose work was merged
  size_t stragglers = 0;  // that had not done all by the deadline, whether their work was taken
  size_t left = 0;        // that never reported
  size_t failed = 0;      // whose loss or weights were no numbers
  size_t clamped = 0;     // elements, as in SecretMean
  double loss = 0;        // mean of those that reported
  double seconds = 0;     // until the last one reported, or the deadline; virtual in a simulation
  double bytes = 0;       // to all clients, weights as f32, and from them, by the codec
  double top1 = -1;       // of the held-out examples, in percent; -1: not evaluated
  SecretCost secret = {};
};

// Sums of a run.
struct Figures {
  int64_t rounds = 0;  // done
  size_t invited = 0, reported = 0, stragglers = 0, left = 0, failed = 0, clamped = 0;
  double bytes = 0;
  learn::CodecKind codec = learn::CodecKind::kF32;  // by which they sent it: local_trainer.h
  double report_bytes = 0;                          // of what one client sends in a round
  double seconds = 0;                               // of the rounds, as in RoundReport
  double loss = 0;                                  // of the last round
  double best_top1 = 0;                             // of the rounds that were evaluated
  double training_share = 0;     // of the time of all threads: local steps, data included
  double bookkeeping_share = 0;  // of that time: inviting, shards, merging
  SecretCost secret = {};        // of all rounds
  fit::Evaluation evaluation = {};
  std::vector<RoundReport> history = {};
};

// The bytes of weights as they are.
double bytes_of(const Weights& weights);

// Course: the server's state between the rounds of a federated run: the network, its evaluation,
// the rate of the round, and the figures. It is the same for simulated clients and for workers of a
// cluster.

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
