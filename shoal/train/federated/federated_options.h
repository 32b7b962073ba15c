// Options of a federated run, and what becomes of its rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/federated/client_codecs.h"
#include "shoal/train/federated/population.h"
#include "shoal/train/federated/secret_mean.h"
#include "shoal/train/federated/shards.h"
#include "shoal/train/federated/strategy.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/setup/training_options.h"

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
  learn::CodecKind codec = learn::CodecKind::kF32;  // by which they sent it: client_codecs.h
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

}  // namespace shoal::federated
