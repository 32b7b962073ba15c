// The mean of the clients' results as a secure sum: an honest server sees the sum, and no client's
// part (secure_sum/client.h).
//
// Client k of K went from w to v_k with n_k examples, at most `most`. Its vector has, for each
// element, n_k (v_k - w) / most as an integer (train/secure_sum/simulate.h), and at the end three
// integers: n_k, the number of its elements that were clamped, and its loss. Of the sums over those
// that sent theirs,
//
//   m = w + most sum(n_k (v_k - w) / most) / sum(n_k),
//
// which is FedAvg's mean but for rounding: an element is off by K unit / 2 most / sum(n_k) at most,
// unit = 2 range / (2^bits - 1), bits = 32 - log2(K). So that `most` is not far above n_k, the
// server knows n_k's order of magnitude: the power of two that is not below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/federated/federated_options.h"
#include "shoal/train/secure_sum/server.h"

namespace shoal::federated_cluster {

// How weights become vectors; the same for the server and all clients of a round.
struct SecureCode {
  double range = 1;           // changes of a weight beyond it are clamped
  size_t clients = 3;         // that the sum has at most
  int64_t most_examples = 1;  // of a client
};

// kInvalidArgument for numbers out of range.
Status check(const SecureCode& code);

// The length of the vector for such weights.
size_t vector_length(const federated::Weights& weights);

// The vector that a client sends. kInvalidArgument for weights of another network, or that are not
// numbers, and for no examples, or more than the code allows. REQUIRES: check(code) is OK.
Result<std::vector<uint32_t>> vector_of(const federated::Weights& from,
                                        const federated::ClientReport& report, double loss,
                                        const SecureCode& code);

// The server's result from the sum, without costs.
struct SecureResult {
  federated::SecretMean mean;
  double loss = 0;  // the mean of the clients'
};
// kCorrupt for a sum that these clients cannot have: no examples. REQUIRES: the sum is of vectors
// of this code and these weights.
Result<SecureResult> mean_from(const secure_sum::Sum& sum, const federated::Weights& from,
                               const SecureCode& code);

// A round's sum by secure_sum::simulate_round() with fresh secrets: every message is encoded and
// decoded, and clients without a report drop out when they should send it.
federated::MergeSecretly merge_by_secure_sum(double range);

}  // namespace shoal::federated_cluster
