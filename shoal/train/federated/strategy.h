// Strategy: how the server of a federated round makes one network of those that clients send. A
// value; nothing here does I/O.
//
// The network w goes to the clients of a round. Client k takes local steps from w on its own n_k
// examples, with the loss
//
//   F_k(v) + mu/2 |v - w|^2                                      (mu = 0 but for FedProx)
//
// and sends what it ends with, v_k. The server merges, coordinate by coordinate, to
//
//   m = sum n_k v_k / sum n_k,  or the median of the v_k,  or their mean without the b smallest and
//       the b largest
//
// and goes on from m, or from where an outer optimiser gets with the gradient w - m.
//
//   fedavg    mean                            McMahan et al. 2017
//   fedprox   mean, mu = 1, partial work      Li et al. 2020
//   fedadam   mean, outer Adam                Reddi et al. 2021, with Adam's correction of its bias
//   fedavgm   mean, outer Nesterov momentum   local SGD, DiLoCo: Douillard et al. 2023
//   median    median                          Yin et al. 2018
//   trimmed   trimmed mean                    Yin et al. 2018
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/step/optimizer/optimizer.h"

namespace shoal::federated {

// Weights and statistics of a network by name, f32.
using Weights = std::map<std::string, Tensor>;

struct Strategy {
  enum class Merge { kMean, kMedian, kTrimmedMean };
  Merge merge = Merge::kMean;
  double trim = 0.2;  // kTrimmedMean: the share of the clients that is left out at each end
  // Learns from the merged weights. Nothing: they are taken as they are.
  std::optional<train::OptimizerOptions> outer = {};
  float mu = 0;  // pull of local weights towards those of the server
  // A client that has not done all of its steps by the deadline sends what it has. Otherwise it is
  // left out.
  bool takes_partial = false;
};

// The names above, in that order; and the strategy of a name, nothing for another one.
std::vector<std::string> strategy_names();
std::optional<Strategy> find_strategy(std::string_view name);

// kInvalidArgument for numbers without a meaning.
Status check(const Strategy& strategy);

// Merges the weights of the clients of one round. The mean needs memory for one network, the others
// for all of them. Not thread-safe.
class Merger {
 public:
  // `like` has the names and types of what will be added. REQUIRES: check(strategy) is OK.
  Merger(const Strategy& strategy, const Weights& like);

  // Adds a client that learned from `examples` examples. Its tensors may be shared and are not
  // written; medians keep them. kInvalidArgument, and nothing changes, for other names or types,
  // elements that are no numbers, and no examples: clients are not trusted.
  Status add(const Weights& weights, int64_t examples);

  // The same without adding, but for the examples.
  Status check_like(const Weights& weights) const;

  size_t clients() const { return clients_; }  // added so far
  // REQUIRES: clients() > 0.
  Weights merged() const;

 private:
  Strategy strategy_;
  Weights like_;
  size_t clients_ = 0;
  double examples_ = 0;
  // f64: with one client, n v / n is v, bit by bit.
  std::map<std::string, std::vector<double>> sums_;
  std::vector<Weights> kept_;  // kMedian, kTrimmedMean
};

// The network between rounds. Not thread-safe.
class Server {
 public:
  // `learned` names the weights that an outer optimiser steps; the rest are statistics, which are
  // only merged. Copies the tensors. REQUIRES: check(strategy) is OK.
  Server(const Strategy& strategy, const Weights& weights, const std::vector<std::string>& learned);

  const Weights& weights() const { return weights_; }
  Merger begin_round() const { return {strategy_, weights_}; }
  // Takes what the clients of the round sent. Without a client nothing changes.
  Status end_round(const Merger& merger);
  // The same with what was merged elsewhere. REQUIRES: it has the names and types of weights().
  Status end_round(Weights merged);

 private:
  Strategy strategy_;
  Weights weights_;
  std::vector<std::string> learned_;
  std::optional<train::Optimizer> outer_;
};

}  // namespace shoal::federated
