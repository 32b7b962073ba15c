#include "shoal/train/secure_sum/server.h"

#include <algorithm>
#include <string>
#include <utility>

#include "shoal/train/secure_sum/client.h"

namespace shoal::secure_sum {
namespace {

Status corrupt(uint32_t client, const std::string& what) {
  return Status(Code::kCorrupt, "client " + std::to_string(client) + ": " + what);
}

}  // namespace

Result<Server> Server::create(const RoundOptions& options, const Secret& seed) {
  SHOAL_TRY(check(options));
  Server server(options, seed);
  server.sum_.resize(options.length);
  return server;
}

Result<Server::Member*> Server::member_in(Phase phase, uint32_t client) {
  const auto position = members_.find(client);
  if (phase_ != phase || position == members_.end()) {
    return corrupt(client, "it has no part in this phase");
  }
  return &position->second;
}

Status Server::end(Phase phase, Phase next, size_t left) {
  SHOAL_CHECK(phase_ == phase);
  const bool enough = left > options_.threshold;
  phase_ = enough ? next : Phase::kOver;
  if (enough) return {};
  return Status(Code::kUnavailable, std::to_string(left) + " clients are left, too few for a sum");
}

Status Server::receive(const Advertisement& message) {
  if (phase_ != Phase::kAdvertising || message.client >= options_.clients) {
    return corrupt(message.client, "it has no part in this phase");
  }
  // Neighbours of such a client would refuse it, and be lost to the round as well.
  SHOAL_ASSIGN(const KeyPair any, KeyPair::of(seed_));
  for (const PublicKey& key : {message.seal_key, message.mask_key}) {
    if (!any.agree(key, "", {}).ok()) return corrupt(message.client, "its key is of low order");
  }
  if (!members_.try_emplace(message.client, Member{.keys = message}).second) {
    return corrupt(message.client, "it has advertised already");
  }
  return {};
}

// Clients on a circle in random order; each one's neighbours are the nearest on both sides (a
// Harary graph, as in Bell et al.), or all if there are too few clients.
void Server::make_neighbours() {
  std::vector<uint32_t> circle;
  for (const auto& [id, member] : members_) circle.push_back(id);
  KeyStream random(seed_);
  for (size_t i = circle.size(); i-- > 1;) {
    std::array<uint8_t, 8> bytes;
    random.fill(bytes);
    uint64_t word = 0;
    for (const uint8_t byte : bytes) word = word << 8 | byte;
    std::swap(circle[i], circle[word % (i + 1)]);
  }
  const size_t others = circle.size() - 1;
  for (size_t i = 0; i < circle.size(); ++i) {
    std::vector<uint32_t>& neighbours = members_.at(circle[i]).neighbours;
    const auto add = [&](size_t distance) {
      neighbours.push_back(circle[(i + distance) % circle.size()]);
    };
    if (others <= options_.neighbours) {
      for (size_t d = 1; d <= others; ++d) add(d);
    } else {
      for (size_t d = 1; d <= options_.neighbours / 2; ++d) {
        add(d);
        add(circle.size() - d);
      }
    }
    std::ranges::sort(neighbours);
  }
}

Result<std::map<uint32_t, NeighbourKeys>> Server::close_advertising() {
  SHOAL_TRY(end(Phase::kAdvertising, Phase::kSharing, members_.size()));
  make_neighbours();
  std::map<uint32_t, NeighbourKeys> messages;
  for (const auto& [id, member] : members_) {
    for (const uint32_t n : member.neighbours) {
      messages[id].neighbours.push_back(members_.at(n).keys);
    }
  }
  return messages;
}

Status Server::receive(SharedSecrets message) {
  SHOAL_ASSIGN(Member* const member, member_in(Phase::kSharing, message.client));
  if (member->has_shared) return corrupt(message.client, "it has shared already");
  if (message.shares.size() != member->neighbours.size()) {
    return corrupt(message.client, "its shares are not as many as its neighbours");
  }
  member->has_shared = true;
  member->shared = std::move(message);
  return {};
}

Result<std::map<uint32_t, Delivery>> Server::close_sharing() {
  // A client that did not share is out: no other has a mask with it.
  std::map<uint32_t, Delivery> messages;
  for (auto& [id, member] : members_) {
    if (!member.has_shared) continue;
    messages[id];
    for (size_t i = 0; i < member.neighbours.size(); ++i) {
      const uint32_t to = member.neighbours[i];
      if (!members_.at(to).has_shared) continue;
      messages[to].parts.push_back({id, member.shared.shares[i]});
    }
    member.shared.shares.clear();
  }
  SHOAL_TRY(end(Phase::kSharing, Phase::kMasking, messages.size()));
  return messages;
}

Status Server::receive(const MaskedVector& message) {
  SHOAL_ASSIGN(Member* const member, member_in(Phase::kMasking, message.client));
  if (!member->has_shared) return corrupt(message.client, "it has not shared its secrets");
  if (member->has_masked) return corrupt(message.client, "it has sent a vector already");
  if (message.elements.size() != options_.length) {
    return corrupt(message.client, "its vector has another length");
  }
  member->has_masked = true;
  for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += message.elements[i];
  return {};
}

Result<std::map<uint32_t, UnmaskRequest>> Server::close_masking() {
  std::map<uint32_t, UnmaskRequest> messages;
  for (auto& [id, member] : members_) {
    if (!member.has_masked) continue;
    for (const uint32_t n : member.neighbours) {
      const Member& neighbour = members_.at(n);
      if (neighbour.has_masked) {
        member.request.survivors.push_back(n);
      } else if (neighbour.has_shared) {
        member.request.dropped.push_back(n);
      }
    }
    messages[id] = member.request;
  }
  SHOAL_TRY(end(Phase::kMasking, Phase::kUnmasking, messages.size()));
  return messages;
}

Status Server::receive(UnmaskAnswer message) {
  SHOAL_ASSIGN(Member* const member, member_in(Phase::kUnmasking, message.client));
  const UnmaskRequest& request = member->request;
  if (!member->has_masked || member->has_answered) {
    return corrupt(message.client, "it was not asked, or has answered already");
  }
  if (message.survivors.size() != request.survivors.size() ||
      message.dropped.size() != request.dropped.size()) {
    return corrupt(message.client, "it answers another question");
  }
  member->has_answered = true;
  const auto give = [&](uint32_t owner, const Secret& value) {
    Member& of = members_.at(owner);
    const auto place = std::ranges::lower_bound(of.neighbours, message.client);
    of.revealed.push_back({static_cast<uint8_t>(place - of.neighbours.begin() + 1), value});
  };
  for (size_t i = 0; i < request.survivors.size(); ++i) {
    give(request.survivors[i], message.survivors[i]);
  }
  for (size_t i = 0; i < request.dropped.size(); ++i) give(request.dropped[i], message.dropped[i]);
  return {};
}

Result<Secret> Server::secret_of(uint32_t client, const Member& member) const {
  if (member.revealed.size() < options_.threshold) {
    return Status(Code::kUnavailable, "too few neighbours of client " + std::to_string(client) +
                                          " are left to take its masks away");
  }
  return combine_shares(std::span(member.revealed).first(options_.threshold));
}

Status Server::take_pairwise_masks_away(uint32_t client, const Member& member,
                                        const Secret& mask_secret) {
  SHOAL_ASSIGN(const KeyPair keys, KeyPair::of(mask_secret));
  if (keys.public_key() != member.keys.mask_key) {
    return corrupt(client, "what its neighbours revealed is not its mask key");
  }
  for (const uint32_t n : member.neighbours) {
    const Member& neighbour = members_.at(n);
    if (!neighbour.has_masked) continue;
    SHOAL_ASSIGN(const Secret key, keys.agree(neighbour.keys.mask_key, kMaskUse,
                                              key_context(options_.round, client, n)));
    // The neighbour added it if the dropped client's number is the higher one.
    KeyStream(key).add_to(sum_, /*subtract=*/n < client);
  }
  return {};
}

Result<Sum> Server::finish() {
  SHOAL_CHECK(phase_ == Phase::kUnmasking);
  phase_ = Phase::kOver;
  Sum result;
  for (const auto& [id, member] : members_) {
    // A client that dropped out and has no neighbour in the sum left no mask in it.
    const bool left_masks =
        member.has_shared &&
        std::ranges::any_of(member.neighbours, [&](auto n) { return members_.at(n).has_masked; });
    if (!member.has_masked && !left_masks) continue;
    SHOAL_ASSIGN(const Secret secret, secret_of(id, member));
    if (!member.has_masked) {
      SHOAL_TRY(take_pairwise_masks_away(id, member, secret));
      continue;
    }
    if (!equal(hash_of(secret), member.shared.self_mask_hash)) {
      return corrupt(id, "what its neighbours revealed is not its self mask");
    }
    KeyStream(secret).add_to(sum_, /*subtract=*/true);
    result.clients.push_back(id);
  }
  const uint64_t modulus = uint64_t{1} << options_.bits;
  for (uint32_t& x : sum_) x &= static_cast<uint32_t>(modulus - 1);
  result.elements = std::move(sum_);
  return result;
}

}  // namespace shoal::secure_sum
