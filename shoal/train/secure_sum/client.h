// Client: one of the clients of a secure sum, whose vectors the server never sees.
//
// Secure aggregation after Bonawitz et al. (2017, CCS, figure 4), with the neighbours of Bell et
// al. (2020, CCS). Client u sends, modulo 2^bits,
//
//   y_u = x_u + stream(b_u) + sum over neighbours v > u of stream(k_uv)
//                           - sum over neighbours v < u of stream(k_uv),
//
// where k_uv comes from the key agreement of u's and v's mask keys. Pairwise masks cancel in the
// sum. For a client that sent its vector the neighbours reveal b_u, for one that dropped out its
// mask key, never both: x_u stays masked.
//
// The server may be curious. It is trusted to pass on public keys unchanged (channels are
// authenticated by shoal/cluster/net, keys are not signed), and to tell all clients the same recipe
// and the same drop-outs: a server that lies about any of these can learn a vector.
//
// No I/O: messages in, messages out. After a refusal all later calls fail. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/secure_sum/messages.h"
#include "shoal/train/secure_sum/primitives.h"

namespace shoal::secure_sum {

class Client {
 public:
  // All secrets of the client follow from `seed`, which must be secret and used for one round only
  // (fresh_secret). Fails as check(options) does.
  static Result<Client> create(const RoundOptions& options, uint32_t id, const Secret& seed);

  Advertisement advertise() const;
  // kCorrupt for too few or too many neighbours, duplicates, the client itself, or keys of low
  // order.
  Result<SharedSecrets> share(const NeighbourKeys& keys);
  // kCorrupt for shares that are not of neighbours, duplicate, or not sealed by their sender;
  // kUnavailable for fewer than the threshold. REQUIRES: options.length values below 2^bits.
  Result<MaskedVector> mask(const Delivery& delivery, std::span<const uint32_t> values);
  // kInvalidArgument for a request for both secrets of a neighbour, for secrets of others, for a
  // sum of too few clients to hide this one, and for a second request.
  Result<UnmaskAnswer> unmask(const UnmaskRequest& request);

 private:
  enum class Phase { kAdvertised, kShared, kMasked, kOver };
  struct Neighbour {
    Secret seal = {}, mask = {};  // keys in common: of sealed shares, and of the pairwise mask
  };
  struct HeldShares {
    Secret self_mask = {}, mask_key = {};
  };

  Client(const RoundOptions& options, uint32_t id, const Secret& seed, const Secret& self_mask,
         const Secret& mask_secret, KeyPair seal_keys, KeyPair mask_keys);
  // Enters a phase in which only the next call can succeed.
  Status begin(Phase expected);
  Status take_neighbours(const NeighbourKeys& keys);
  Status take_shares(const Delivery& delivery);
  Result<SealedShare> seal_for(uint32_t neighbour, const Share& self_mask,
                               const Share& mask_key) const;

  RoundOptions options_;
  uint32_t id_;
  KeyStream random_;
  Secret self_mask_, mask_secret_;
  KeyPair seal_keys_, mask_keys_;
  Phase phase_ = Phase::kAdvertised;
  std::map<uint32_t, Neighbour> neighbours_;
  std::map<uint32_t, HeldShares> held_;  // of neighbours that shared
};

// The derivation context of the keys shared by two clients.
std::array<uint8_t, 16> key_context(uint64_t round, uint32_t one, uint32_t other);
inline constexpr const char* kMaskUse = "shoal secure sum, mask";

}  // namespace shoal::secure_sum
