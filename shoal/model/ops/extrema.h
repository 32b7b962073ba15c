// The larger and the smaller of two elements. Unlike std::max and std::min a NaN always wins, so
// that the answer does not depend on the order.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace shoal::ops {

template <class T>
bool is_nan_element(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

// Whether x is larger than `best` in this order, in which NaNs are equal.
template <class T>
bool is_larger(T x, T best) {
  return x > best || (is_nan_element(x) && !is_nan_element(best));
}

template <class T>
T larger(T a, T b) {
  return b > a || is_nan_element(b) ? b : a;
}

template <class T>
T smaller(T a, T b) {
  return b < a || is_nan_element(b) ? b : a;
}

// The identities of larger() and smaller(): infinite if the type has infinities.
template <class T>
inline constexpr T kBottom = std::numeric_limits<T>::has_infinity
                                 ? -std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T kTop = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                               : std::numeric_limits<T>::max();

}  // namespace shoal::ops
