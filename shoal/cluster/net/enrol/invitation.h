// Invitations: tokens whose holder may join the cluster once, within a short time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/cluster/net/enrol/authority.h"
#include "shoal/cluster/net/tls/identity.h"

namespace shoal::net {

using Secret = std::array<std::byte, 16>;
using InvitationId = std::array<std::byte, 8>;

// The text that an invited peer is given: "shoal1/ADDRESS/FINGERPRINT/SECRET".
struct Token {
  std::string address;      // where to ask
  Fingerprint fingerprint;  // of the authority, by which the newcomer authenticates it
  Secret secret;            // by which the authority authenticates the newcomer
};

std::string to_string(const Token& token);
Result<Token> parse_token(std::string_view text);

// Identifies the secret without revealing it.
Result<InvitationId> id_of(const Secret& secret);

inline constexpr std::chrono::minutes kInvitationLifetime{15};

struct Invitation {
  Secret secret;
  Role role;
};

// Kept in the authority's folder, so that all processes that use it share them.
class Invitations {
 public:
  explicit Invitations(const Authority& authority)
      : authority_(authority), folder_(authority.folder() / "invitations") {}

  // The user of the token gets this role. kInvalidArgument for owner: that is the folder's holder.
  Result<Token> invite(const std::string& address, Time now, Role role = Role::kWorker,
                       std::chrono::seconds lifetime = kInvitationLifetime) const;

  // An invitation that can be used now.
  Result<Invitation> look_up(const InvitationId& id, Time now) const;
  // Binds the invitation to the first key that asks, also among several processes. That key may ask
  // again, because the answer may have been lost; any other is refused.
  Status claim(const InvitationId& id, const Fingerprint& key) const;
  void give_up(const InvitationId& id) const;  // the claim; any key may ask again
  // Uses the invitation up: the answer has arrived.
  Status use(const InvitationId& id) const;

 private:
  std::filesystem::path file_of(const InvitationId& id) const;
  void forget_expired(Time now) const;

  const Authority& authority_;
  const std::filesystem::path folder_;
};

}  // namespace shoal::net
