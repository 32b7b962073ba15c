// Options of a federated run, and the reports of its rounds.
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

// A mean of client reports of which the server sees no single one. The server of a round calls it;
// secure_sum does the work (cluster/federated/secure_mean.h).

// A client's weights at the end of a round.
struct ClientReport {
  Weights weights = {};
  int64_t examples = 0;
};

// The cost of hiding reports from the server.
struct SecretCost {
  double bytes = 0;        // of the client that sent and received most, without the network itself
  double plain_bytes = 0;  // of a report without it
  double client_seconds = 0;  // processor time of a client, on average
  double server_seconds = 0;
};

struct SecretMean {
  Weights weights = {};
  size_t clients = 0;  // in it
  size_t clamped = 0;  // elements beyond the range of the sum
  SecretCost cost = {};
};

// The mean, by examples, of the reports of clients that started from `from`. nullopt for a client
// that dropped out before it sent its report. kUnavailable if too few are left to hide each of
// them.
using MergeSecretly = std::function<Result<SecretMean>(
    uint64_t round, const Weights& from, std::span<const std::optional<ClientReport>> reports)>;

struct Options {
  // Network, data and local optimizer; `epochs` are those of a client in a round. The rate's
  // schedule counts rounds.
  fit::TrainingOptions fit = {};
  Strategy strategy = {};
  Population population = {};  // its number of clients and seed also apply to the shards
  ShardOptions shards = {};
  int64_t rounds = 100;
  size_t per_round = 10;       // clients that are invited
  int64_t local_steps = 0;     // of a client, instead of epochs; 0: epochs
  int64_t evaluate_every = 1;  // rounds; the last one is evaluated in any case
  double target_top1 = 0;      // in percent: training ends once reached; 0: none
  int threads = 1;             // clients that train at once; no influence on the result
  // How clients send what they learned (local_trainer.h). kF32: plain weights.
  learn::CodecKind codec = learn::CodecKind::kF32;
  // Merges reports without showing them. Null: the server sees each report.
  MergeSecretly merge_secretly = {};
};

// kInvalidArgument for options that make no sense; kUnsupported for what clients cannot do: a
// teacher, patience, resuming.
Status check(const Options& options);
// kUnsupported for what a secure sum cannot do: strategies that compare clients, and codecs.
Status check_secret(const Strategy& strategy, learn::CodecKind codec, size_t per_round);

struct RoundReport {
  int64_t round = 0;  // from 1
  size_t invited = 0;
  size_t reported = 0;    // whose work was merged
  size_t stragglers = 0;  // had not finished by the deadline, whether their work was taken or not
  size_t left = 0;        // that never reported
  size_t failed = 0;      // with a loss or weights that are NaN or infinite
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
  learn::CodecKind codec = learn::CodecKind::kF32;  // of client reports: local_trainer.h
  double report_bytes = 0;                          // of one client in a round
  double seconds = 0;                               // of the rounds, as in RoundReport
  double loss = 0;                                  // of the last round
  double best_top1 = 0;                             // of the rounds that were evaluated
  double training_share = 0;     // of the time of all threads: local steps, data included
  double bookkeeping_share = 0;  // of that time: inviting, shards, merging
  SecretCost secret = {};        // of all rounds
  fit::Evaluation evaluation = {};
  std::vector<RoundReport> history = {};
};

// The bytes of the weights, uncompressed.
double bytes_of(const Weights& weights);

// Course: the server's state between rounds: network, evaluation, rate and figures. The same for
// simulated clients and for workers of a cluster.

// Not thread-safe.
class Course {
 public:
  // The initial state.
  struct Start {
    const Weights& weights;
    const std::vector<std::string>& learned;  // the weights that an outer optimizer steps
  };

  // `held_out` may be null: nothing is evaluated then. Fails as the network does. REQUIRES:
  // check(options) is OK, and options and device outlive the result.
  static Result<Course> create(Device& device, const fit::NetworkForBatch& network,
                               std::shared_ptr<const Dataset> held_out, const Options& options,
                               const Start& start);

  const Weights& weights() const { return server_.weights(); }
  int64_t rounds() const { return figures_.rounds; }  // that are done
  double rate_factor() const { return factor_at(schedule_, figures_.rounds); }
  Merger begin_round() const { return server_.begin_round(); }

  // Takes the merged weights of a round.
  Status merge(const Merger& merger) { return server_.end_round(merger); }
  // The same without seeing single reports. Nothing changes if there are too few.
  Status merge_secretly(std::span<const std::optional<ClientReport>> reports, RoundReport& report);
  Status merge(SecretMean mean, RoundReport& report);

  // Evaluates if that is due, and counts the round.
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
