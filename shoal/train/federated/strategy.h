// Strategy: how the server merges the networks of a round's clients. A value; no I/O.
//
// Client k takes local steps from the server's weights w on its own n_k examples, with the loss
//
//   F_k(v) + mu/2 |v - w|^2                                      (mu = 0 but for FedProx)
//
// and sends its final weights v_k. The server merges, coordinate by coordinate, to
//
//   m = sum n_k v_k / sum n_k,  or the median of the v_k,  or their mean without the b smallest and
//       the b largest
//
// and goes on from m, or from an outer optimizer's step with the gradient w - m.
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
  double trim = 0.2;  // kTrimmedMean: share of clients dropped at each end
  // Steps with the merged weights. nullopt: they are taken as they are.
  std::optional<train::OptimizerOptions> outer = {};
  float mu = 0;  // pull of local weights towards those of the server
  // Whether a client that is late sends its partial work; otherwise it is dropped.
  bool takes_partial = false;
};

// The names above, in order, and the strategy of a name; nullopt for any other.
std::vector<std::string> strategy_names();
std::optional<Strategy> find_strategy(std::string_view name);

// kInvalidArgument for numbers that make no sense.
Status check(const Strategy& strategy);

// Merges the weights of one round's clients. The mean needs memory for one network, the others for
// all of them. Not thread-safe.
class Merger {
 public:
  // `like` has the names and types of the weights to add. REQUIRES: check(strategy) is OK.
  Merger(const Strategy& strategy, const Weights& like);

  // Adds a client that trained on `examples` examples. Its tensors may be shared and are not
  // written; medians keep them. kInvalidArgument, and nothing changes, for other names or types,
  // NaN or infinite elements, or no examples: clients are untrusted.
  Status add(const Weights& weights, int64_t examples);

  // The checks of add(), except on the examples.
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
  // `learned` names the weights that an outer optimizer steps; the rest are statistics, which are
  // only merged. Copies the tensors. REQUIRES: check(strategy) is OK.
  Server(const Strategy& strategy, const Weights& weights, const std::vector<std::string>& learned);

  const Weights& weights() const { return weights_; }
  Merger begin_round() const { return {strategy_, weights_}; }
  // Applies a round. Nothing changes without clients.
  Status end_round(const Merger& merger);
  // The same with weights merged elsewhere. REQUIRES: names and types of weights().
  Status end_round(Weights merged);

 private:
  Strategy strategy_;
  Weights weights_;
  std::vector<std::string> learned_;
  std::optional<train::Optimizer> outer_;
};

}  // namespace shoal::federated
