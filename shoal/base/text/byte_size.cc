#include "shoal/base/text/byte_size.h"

#include <array>
#include <charconv>

namespace shoal {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits = {Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}};

}  // namespace

std::optional<int64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  for (const Unit& unit : kUnits) {
    const double bytes = number * unit.bytes;
    // The comparisons are false for NaN.
    if (std::string_view(rest, end) == unit.name && bytes >= 1 && bytes <= 1e18) {
      return static_cast<int64_t>(bytes);
    }
  }
  return std::nullopt;
}

}  // namespace shoal
