
#include "shoal/base/text/number_text.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace shoal {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kSizeUnits = {Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}};

}  // namespace

std::string fixed(double x, int digits) {
  // The largest double has 309 digits before the point.
  std::array<char, 352> text;
  std::snprintf(text.data(), text.size(), "%.*f", digits, x);
  return text.data();
}

std::string with_commas(long long n) {
  std::string digits = std::to_string(std::llabs(n));
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return n < 0 ? "-" + digits : digits;
}

std::string in_bytes(long long n) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(n);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) value /= 1000, ++unit;
  return fixed(value, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string in_seconds(double seconds) {
  return seconds < 1 ? fixed(1e3 * seconds, 1) + " ms" : fixed(seconds, 2) + " s";
}

std::string in_utc(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<int64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  for (const Unit& unit : kSizeUnits) {
    const double bytes = number * unit.bytes;
    // The comparisons are false for NaN.
    if (std::string_view(rest, end) == unit.name && bytes >= 1 && bytes <= 1e18) {
      return static_cast<int64_t>(bytes);
    }
  }
  return std::nullopt;
}

}  // namespace shoal
