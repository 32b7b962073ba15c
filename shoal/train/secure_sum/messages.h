// The messages of a round of secure aggregation, and their bytes. Bytes that come from a peer are
// hostile until they are decoded, and messages until Client or Server has taken them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/secure_sum/primitives.h"
#include "shoal/train/secure_sum/round_options.h"

namespace shoal::secure_sum {

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
// 3, client to server: shares, one for each neighbour in the order in which it got them.
struct SharedSecrets {
  uint32_t client = 0;
  Secret self_mask_hash = {};
  std::vector<SealedShare> shares = {};
};
// 4, server to client: the shares that its neighbours made for it.
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
// 6, server to client: whose self mask and whose mask key it needs a share of.
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

// kCorrupt for bytes that encode() does not write. Memory is taken for what is there, not for what
// a count says.
Result<Advertisement> decode_advertisement(std::span<const uint8_t> bytes);
Result<NeighbourKeys> decode_neighbour_keys(std::span<const uint8_t> bytes);
Result<SharedSecrets> decode_shared_secrets(std::span<const uint8_t> bytes);
Result<Delivery> decode_delivery(std::span<const uint8_t> bytes);
Result<MaskedVector> decode_masked_vector(std::span<const uint8_t> bytes,
                                          const RoundOptions& options);
Result<UnmaskRequest> decode_unmask_request(std::span<const uint8_t> bytes);
Result<UnmaskAnswer> decode_unmask_answer(std::span<const uint8_t> bytes);

}  // namespace shoal::secure_sum
