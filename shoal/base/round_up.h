// How many units hold a value, and what they hold. Values are not negative, units positive.
#pragma once

#include <cstdint>

namespace shoal {

constexpr int64_t ceil_div(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
constexpr int64_t round_up(int64_t value, int64_t unit) { return ceil_div(value, unit) * unit; }

}  // namespace shoal
