// Arithmetic for sizes, counts and offsets that come from a file or a peer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace shoal {

// An int64 that remembers an overflow. Compute freely, ask once:
//   Checked end = Checked(offset) + length;  if (!end.ok()) ...
class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}

  constexpr bool ok() const { return ok_; }
  constexpr std::optional<int64_t> get() const {
    return ok_ ? std::optional(value_) : std::nullopt;
  }
  // For comparisons after ok(): an overflowed value compares as the largest.
  constexpr int64_t value() const { return ok_ ? value_ : std::numeric_limits<int64_t>::max(); }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  // Truncates like the language; dividing by zero is an overflow.
  friend constexpr Checked operator/(Checked a, Checked b) {
    const bool bad =
        b.value_ == 0 || (a.value_ == std::numeric_limits<int64_t>::min() && b.value_ == -1);
    Checked r(bad ? 0 : a.value_ / b.value_);
    r.ok_ = !bad && a.ok_ && b.ok_;
    return r;
  }

 private:
  int64_t value_;
  bool ok_ = true;
};

}  // namespace shoal
