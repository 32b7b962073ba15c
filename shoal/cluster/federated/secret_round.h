// SecretRound: the server's part of a round whose sum is secret, phase by phase, with its costs.
// Clients are numbered by seats. Without I/O; see train/secure_sum/server.h.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "shoal/cluster/federated/round_messages.h"
#include "shoal/train/secure_sum/server.h"

namespace shoal::federated_cluster {

// Not thread-safe.
class SecretRound {
 public:
  enum class Phase { kKeys, kShares, kVectors, kUnmask, kOver };

  // The code gives the number of clients; `weights` their shapes. Fails as check(code) does.
  static Result<SecretRound> create(int64_t round, const federated::Weights& from,
                                    const SecureCode& code);

  Phase phase() const { return phase_; }
  SecretPart part_of(uint32_t seat) const { return {seat, options_, code_}; }

  // kCorrupt for a message that does not belong to this phase: its sender has dropped out.
  Status take(uint32_t seat, std::span<const std::byte> bytes, double seconds);
  // Ends the phase, and returns the messages for the remaining clients, by seat; none after the
  // last phase. kUnavailable if too few are left.
  Result<std::map<uint32_t, std::vector<std::byte>>> close();
  // REQUIRES: the last phase was closed.
  Result<SecureResult> result(const federated::Weights& from) const;

 private:
  struct Cost {
    double bytes = 0, seconds = 0;
  };
  SecretRound(const secure_sum::RoundOptions& options, const SecureCode& code,
              secure_sum::Server server)
      : options_(options), code_(code), server_(std::move(server)) {}
  Status receive(uint32_t seat, std::span<const uint8_t> bytes);
  template <class Messages>
  std::map<uint32_t, std::vector<std::byte>> encoded(const Messages& messages);

  secure_sum::RoundOptions options_;
  SecureCode code_;
  secure_sum::Server server_;
  Phase phase_ = Phase::kKeys;
  secure_sum::Sum sum_;
  std::map<uint32_t, Cost> costs_;  // by seat
  double seconds_ = 0;              // of the server
};

}  // namespace shoal::federated_cluster
