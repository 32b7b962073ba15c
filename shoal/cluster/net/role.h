// Role: what a member of a cluster may do. Certified, as names are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shoal::net {

enum class Role : uint8_t {
  kWorker,       // computes; sends pieces to workers of the same plan
  kClient,       // asks how a worker is; deploys nothing
  kCoordinator,  // deploys plans and measures
  kOwner,        // coordinates, and holds the key of the authority: enrols, removes, renews
};

// "worker", "client", "coordinator", "owner": as certificates, invitations and users write it.
std::string_view to_string(Role role);
std::optional<Role> parse_role(std::string_view text);

}  // namespace shoal::net
