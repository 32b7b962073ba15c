// A mean of what clients learned, of which the server sees no single client's part. The server of a
// round calls it; secure_sum does the work (cluster/federated/secure_mean.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "shoal/base/status.h"
#include "shoal/train/federated/strategy.h"

namespace shoal::federated {

// What a client has at the end of a round.
struct ClientReport {
  Weights weights = {};
  int64_t examples = 0;
};

// What it costs that nobody sees a report.
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

}  // namespace shoal::federated
