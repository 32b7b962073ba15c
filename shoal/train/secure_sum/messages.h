// The messages of a round of secure aggregation, and their bytes. Bytes and messages from a peer
// are untrusted until decoded and accepted by Client or Server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/secure_sum/primitives.h"

namespace shoal::secure_sum {

// Clients are numbered from 0.
struct RoundOptions {
  uint64_t round = 0;  // keys differ between rounds
  size_t clients = 0;  // invited
  size_t length = 0;   // elements of a vector
  int bits = 32;       // sums are exact modulo 2^bits, and an element is sent with this many bits
  size_t neighbours = 0;  // that each client shares its secrets and masks with
  size_t threshold = 0;   // neighbours that reveal a secret together
};

// kInvalidArgument for options with which a round cannot work or hides nothing. More than half of
// the neighbours must be needed: else a server could ask one half for a client's self mask and the
// other for its pairwise masks.
Status check(const RoundOptions& options);

// The fewest neighbours with which these fail with a probability of 2^-20 and 2^-40 in all:
//   a third of the clients drops out, and the sum is still found;
//   a fifth of the clients tells the server all it knows, and no secret is found.
// Neighbours are drawn at random, so that both are tails of hypergeometric distributions (Bell et
// al. 2020, arXiv 2020/704, lemma 3.7). Few clients are all neighbours of each other. At most 254
// are neighbours, which is enough for both up to about 3,000 clients. REQUIRES: clients >= 3.
RoundOptions plan_round(size_t clients, size_t length, int bits = 32);

// 1, client to server: its keys, one to seal shares with and one for masks.
struct Advertisement {
  uint32_t client = 0;
  PublicKey seal_key = {}, mask_key = {};
};
// 2, server to client: the keys of its neighbours.
struct NeighbourKeys {
  std::vector<Advertisement> neighbours = {};
};
// A share of the client's self mask and one of its mask key.
using SealedShare = std::array<uint8_t, 2 * sizeof(Secret) + kTagBytes>;
// 3, client to server: one share per neighbour, in the order received.
struct SharedSecrets {
  uint32_t client = 0;
  Secret self_mask_hash = {};
  std::vector<SealedShare> shares = {};
};
// 4, server to client: its neighbours' shares for it.
struct Delivery {
  struct Part {
    uint32_t from = 0;
    SealedShare share = {};
  };
  std::vector<Part> parts = {};
};
// 5, client to server.
struct MaskedVector {
  uint32_t client = 0;
  std::vector<uint32_t> elements = {};
};
// 6, server to client: the clients whose self mask or mask key it needs a share of.
struct UnmaskRequest {
  std::vector<uint32_t> survivors = {}, dropped = {};
};
// 7, client to server: the shares, in the order of the request.
struct UnmaskAnswer {
  uint32_t client = 0;
  std::vector<Secret> survivors = {}, dropped = {};
};

std::vector<uint8_t> encode(const Advertisement& message);
std::vector<uint8_t> encode(const NeighbourKeys& message);
std::vector<uint8_t> encode(const SharedSecrets& message);
std::vector<uint8_t> encode(const Delivery& message);
// Elements travel with options.bits each.
std::vector<uint8_t> encode(const MaskedVector& message, const RoundOptions& options);
std::vector<uint8_t> encode(const UnmaskRequest& message);
std::vector<uint8_t> encode(const UnmaskAnswer& message);

// kCorrupt for bytes that encode() does not write. Memory is taken for the bytes present, not for
// the claimed count.
Result<Advertisement> decode_advertisement(std::span<const uint8_t> bytes);
Result<NeighbourKeys> decode_neighbour_keys(std::span<const uint8_t> bytes);
Result<SharedSecrets> decode_shared_secrets(std::span<const uint8_t> bytes);
Result<Delivery> decode_delivery(std::span<const uint8_t> bytes);
Result<MaskedVector> decode_masked_vector(std::span<const uint8_t> bytes,
                                          const RoundOptions& options);
Result<UnmaskRequest> decode_unmask_request(std::span<const uint8_t> bytes);
Result<UnmaskAnswer> decode_unmask_answer(std::span<const uint8_t> bytes);

}  // namespace shoal::secure_sum
