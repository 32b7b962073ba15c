#include "shoal/cluster/net/role.h"

#include <algorithm>
#include <array>

namespace shoal::net {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 4> kNames = {"worker", "client", "coordinator", "owner"};

}  // namespace

std::string_view to_string(Role role) { return kNames[static_cast<size_t>(role)]; }

std::optional<Role> parse_role(std::string_view text) {
  const auto it = std::ranges::find(kNames, text);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<Role>(it - kNames.begin());
}

}  // namespace shoal::net
