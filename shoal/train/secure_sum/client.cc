#include "shoal/train/secure_sum/client.h"

#include <algorithm>
#include <utility>

namespace shoal::secure_sum {
namespace {

constexpr const char* kSealUse = "shoal secure sum, share";

Sealer sealer(uint32_t from, uint32_t to) { return from < to ? Sealer::kLower : Sealer::kHigher; }

Status corrupt(const std::string& what) { return Status(Code::kCorrupt, what); }

}  // namespace

std::array<uint8_t, 16> key_context(uint64_t round, uint32_t one, uint32_t other) {
  std::array<uint8_t, 16> bytes;
  const uint64_t pair = uint64_t{std::min(one, other)} << 32 | std::max(one, other);
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(round >> (8 * i));
    bytes[8 + i] = static_cast<uint8_t>(pair >> (8 * i));
  }
  return bytes;
}

Client::Client(const RoundOptions& options, uint32_t id, const Secret& seed,
               const Secret& self_mask, const Secret& mask_secret, KeyPair seal_keys,
               KeyPair mask_keys)
    : options_(options),
      id_(id),
      random_(seed),
      self_mask_(self_mask),
      mask_secret_(mask_secret),
      seal_keys_(std::move(seal_keys)),
      mask_keys_(std::move(mask_keys)) {}

Result<Client> Client::create(const RoundOptions& options, uint32_t id, const Secret& seed) {
  SHOAL_TRY(check(options));
  if (id >= options.clients) return invalid("no client of the round has this number");
  KeyStream random(seed);
  Secret rest, self_mask, seal_secret, mask_secret;
  for (Secret* secret : {&rest, &self_mask, &seal_secret, &mask_secret}) random.fill(*secret);
  SHOAL_ASSIGN(KeyPair seal_keys, KeyPair::of(seal_secret));
  SHOAL_ASSIGN(KeyPair mask_keys, KeyPair::of(mask_secret));
  forget(seal_secret);
  return Client(options, id, rest, self_mask, mask_secret, std::move(seal_keys),
                std::move(mask_keys));
}

Advertisement Client::advertise() const {
  return {id_, seal_keys_.public_key(), mask_keys_.public_key()};
}

Status Client::begin(Phase expected) {
  const bool is_next = std::exchange(phase_, Phase::kOver) == expected;
  return is_next ? Status() : invalid("the client does not expect this message");
}

Status Client::take_neighbours(const NeighbourKeys& keys) {
  const size_t count = keys.neighbours.size();
  if (count < options_.threshold || count > options_.neighbours) {
    return corrupt("there are " + std::to_string(count) + " neighbours");
  }
  for (const Advertisement& n : keys.neighbours) {
    if (n.client >= options_.clients || n.client == id_) return corrupt("a neighbour is none");
    const auto context = key_context(options_.round, id_, n.client);
    SHOAL_ASSIGN(const Secret seal, seal_keys_.agree(n.seal_key, kSealUse, context));
    SHOAL_ASSIGN(const Secret mask, mask_keys_.agree(n.mask_key, kMaskUse, context));
    if (!neighbours_.try_emplace(n.client, Neighbour{seal, mask}).second) {
      return corrupt("a neighbour is named twice");
    }
  }
  return {};
}

Result<SealedShare> Client::seal_for(uint32_t neighbour, const Share& self_mask,
                                     const Share& mask_key) const {
  std::array<uint8_t, 2 * sizeof(Secret)> both;
  std::ranges::copy(self_mask.value, both.begin());
  std::ranges::copy(mask_key.value, both.begin() + sizeof(Secret));
  SHOAL_ASSIGN(const std::vector<uint8_t> sealed,
               seal(neighbours_.at(neighbour).seal, sealer(id_, neighbour), both));
  SealedShare share;
  SHOAL_CHECK(sealed.size() == share.size());
  std::ranges::copy(sealed, share.begin());
  return share;
}

Result<SharedSecrets> Client::share(const NeighbourKeys& keys) {
  SHOAL_TRY(begin(Phase::kAdvertised));
  SHOAL_TRY(take_neighbours(keys));
  const size_t count = keys.neighbours.size();
  const auto self_masks = share_secret(self_mask_, options_.threshold, count, random_);
  const auto mask_keys = share_secret(mask_secret_, options_.threshold, count, random_);
  SharedSecrets message{.client = id_, .self_mask_hash = hash_of(self_mask_)};
  for (size_t i = 0; i < count; ++i) {
    SHOAL_ASSIGN(const SealedShare sealed,
                 seal_for(keys.neighbours[i].client, self_masks[i], mask_keys[i]));
    message.shares.push_back(sealed);
  }
  phase_ = Phase::kShared;
  return message;
}

Status Client::take_shares(const Delivery& delivery) {
  for (const Delivery::Part& part : delivery.parts) {
    const auto neighbour = neighbours_.find(part.from);
    if (neighbour == neighbours_.end()) return corrupt("a share is of no neighbour");
    SHOAL_ASSIGN(const std::vector<uint8_t> both,
                 open(neighbour->second.seal, sealer(part.from, id_), part.share));
    HeldShares held;
    std::copy_n(both.begin(), sizeof(Secret), held.self_mask.begin());
    std::copy_n(both.begin() + sizeof(Secret), sizeof(Secret), held.mask_key.begin());
    if (!held_.try_emplace(part.from, held).second) return corrupt("a neighbour shared twice");
  }
  if (held_.size() >= options_.threshold) return {};
  return Status(Code::kUnavailable, "too few neighbours are left");
}

Result<MaskedVector> Client::mask(const Delivery& delivery, std::span<const uint32_t> values) {
  const uint64_t modulus = uint64_t{1} << options_.bits;
  SHOAL_CHECK(values.size() == options_.length);
  SHOAL_CHECK(std::ranges::all_of(values, [&](uint32_t x) { return x < modulus; }));
  SHOAL_TRY(begin(Phase::kShared));
  SHOAL_TRY(take_shares(delivery));
  MaskedVector message{.client = id_, .elements = {values.begin(), values.end()}};
  KeyStream(self_mask_).add_to(message.elements);
  for (const auto& [id, shares] : held_) {
    KeyStream(neighbours_.at(id).mask).add_to(message.elements, /*subtract=*/id < id_);
  }
  for (uint32_t& x : message.elements) x &= static_cast<uint32_t>(modulus - 1);
  phase_ = Phase::kMasked;
  return message;
}

Result<UnmaskAnswer> Client::unmask(const UnmaskRequest& request) {
  SHOAL_TRY(begin(Phase::kMasked));
  if (request.survivors.size() < options_.threshold) {
    return invalid("a sum of too few clients shows what each of them sent");
  }
  // A neighbour that was asked about is taken out, so that no other question about it is answered.
  UnmaskAnswer answer{.client = id_};
  const auto reveal = [&](uint32_t id, Secret HeldShares::*which,
                          std::vector<Secret>& out) -> Status {
    const auto position = held_.find(id);
    if (position == held_.end()) return invalid("both secrets of a client, or one of no neighbour");
    out.push_back(position->second.*which);
    held_.erase(position);
    return {};
  };
  for (const uint32_t id : request.survivors) {
    SHOAL_TRY(reveal(id, &HeldShares::self_mask, answer.survivors));
  }
  for (const uint32_t id : request.dropped) {
    SHOAL_TRY(reveal(id, &HeldShares::mask_key, answer.dropped));
  }
  return answer;
}

}  // namespace shoal::secure_sum
