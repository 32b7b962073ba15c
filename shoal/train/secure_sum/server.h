// Server: adds the masked vectors of a round, and removes the masks with what clients reveal.
//
// No I/O and no clock: messages come in, and the caller decides when to close a phase. A refused
// message changes nothing; its sender counts as dropped out unless a later one is accepted. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/secure_sum/messages.h"
#include "shoal/train/secure_sum/primitives.h"

namespace shoal::secure_sum {

struct Sum {
  std::vector<uint32_t> elements;  // modulo 2^bits
  std::vector<uint32_t> clients;   // whose vectors are in it, in order
};

class Server {
 public:
  // `seed` determines the neighbours. Fails as check(options) does.
  static Result<Server> create(const RoundOptions& options, const Secret& seed);

  // Each fails with kCorrupt for a client that is not in the phase, a second message, keys of low
  // order, and contents of the wrong size.
  Status receive(const Advertisement& message);
  Status receive(SharedSecrets message);
  Status receive(const MaskedVector& message);
  Status receive(UnmaskAnswer message);

  // Each ends a phase and returns the messages for the remaining clients. kUnavailable if these are
  // too few; the round is then over.
  Result<std::map<uint32_t, NeighbourKeys>> close_advertising();
  Result<std::map<uint32_t, Delivery>> close_sharing();
  Result<std::map<uint32_t, UnmaskRequest>> close_masking();
  // kUnavailable if too few revealed a secret, kCorrupt if it is not what its owner has shared.
  Result<Sum> finish();

 private:
  enum class Phase { kAdvertising, kSharing, kMasking, kUnmasking, kOver };
  struct Member {
    Advertisement keys = {};
    std::vector<uint32_t> neighbours = {};  // in order; the shares of neighbour i are at x = i + 1
    SharedSecrets shared = {};
    bool has_shared = false, has_masked = false;
    UnmaskRequest request = {};
    bool has_answered = false;
    // Revealed by neighbours: its self mask, or its mask key if it dropped out.
    std::vector<Share> revealed = {};
  };

  explicit Server(const RoundOptions& options, const Secret& seed)
      : options_(options), seed_(seed) {}
  Result<Member*> member_in(Phase phase, uint32_t client);
  Status end(Phase phase, Phase next, size_t left);
  void make_neighbours();
  Result<Secret> secret_of(uint32_t client, const Member& member) const;
  Status take_pairwise_masks_away(uint32_t client, const Member& member, const Secret& mask_secret);

  RoundOptions options_;
  Secret seed_;
  Phase phase_ = Phase::kAdvertising;
  std::map<uint32_t, Member> members_;
  std::vector<uint32_t> sum_;
};

}  // namespace shoal::secure_sum
