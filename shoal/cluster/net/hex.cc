#include "shoal/cluster/net/hex.h"

namespace shoal::net {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<size_t>(b >> 4)];
    text += kDigits[std::to_integer<size_t>(b & std::byte{15})];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]);
    const size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return bytes;
}

}  // namespace shoal::net
