#include "shoal/base/text/number_text.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace shoal {

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

}  // namespace shoal
