// Client: one of those whose vectors are summed, without the server seeing any of them.
//
// Secure aggregation after Bonawitz et al. (2017, CCS, figure 4), with neighbours as Bell et al.
// (2020, CCS) have them. Client u sends, modulo 2^bits,
//
//   y_u = x_u + stream(b_u) + sum over neighbours v > u of stream(k_uv)
//                           - sum over neighbours v < u of stream(k_uv),
//
// where k_uv follows from the agreement of u's and v's mask keys. In the sum pairwise masks cancel.
// Of a client that sent its vector the neighbours reveal b_u, of one that dropped out its mask key,
// and never both: x_u stays masked.
//
// The server may be curious. It is trusted to pass on public keys unchanged (channels are
// authenticated by shoal/cluster/net, keys are not signed), to tell all clients the same of who
// dropped out, and to give all of them the same recipe: a server that lies about any of these can
// learn a vector.
//
// A client has no I/O: messages in, messages out. Whatever it refuses ends its part of the round;
// later calls fail. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/secure_sum/messages.h"
#include "shoal/train/secure_sum/round_options.h"
#include "shoal/train/secure_sum/shamir.h"

namespace shoal::secure_sum {

class Client {
 public:
  // All of the client's secrets follow from `seed`, which nobody else knows and no other round uses
  // (fresh_secret). Fails as check(options) does.
  static Result<Client> create(const RoundOptions& options, uint32_t id, const Secret& seed);

  Advertisement advertise() const;
  // kCorrupt for neighbours that are too few or too many, named twice, the client itself, or have a
  // key of low order.
  Result<SharedSecrets> share(const NeighbourKeys& keys);
  // kCorrupt for shares of others than the neighbours, named twice, or sealed by somebody else;
  // kUnavailable for fewer than the threshold. REQUIRES: options.length values below 2^bits.
  Result<MaskedVector> mask(const Delivery& delivery, std::span<const uint32_t> values);
  // Refuses (kInvalidArgument) a request for both secrets of a neighbour, for secrets of others,
  // for a sum of so few that the client's own vector could be seen, and a second request.
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
  // Enters a phase in which only what is called next can succeed.
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
  std::map<uint32_t, HeldShares> held_;  // of the neighbours that shared
};

// What the keys that two clients have in common are derived for.
std::array<uint8_t, 16> key_context(uint64_t round, uint32_t one, uint32_t other);
inline constexpr const char* kMaskUse = "shoal secure sum, mask";

}  // namespace shoal::secure_sum
