// Hex: bytes as text of 0-9 and a-f, the only form of from_hex(), so that each value has one text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::net {

std::string to_hex(std::span<const std::byte> bytes);
std::optional<std::vector<std::byte>> from_hex(std::string_view text);

}  // namespace shoal::net
