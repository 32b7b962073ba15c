#include "shoal/model/ops/signal/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// A plan of this length takes about 1.5 GB. Signals are far shorter.
constexpr int64_t kMaxLength = int64_t{1} << 24;

Complex turn(double part) { return std::polar(1.0, -2 * std::numbers::pi * part); }

std::vector<Complex> roots_of(size_t n) {
  std::vector<Complex> roots(n / 2);
  for (size_t k = 0; k < roots.size(); ++k) {
    roots[k] = turn(static_cast<double>(k) / static_cast<double>(n));
  }
  return roots;
}

void reverse_bits(std::span<Complex> x) {
  for (size_t i = 1, j = 0; i < x.size(); ++i) {
    size_t bit = x.size() / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
}

// The algorithm of Cooley and Tukey, radix 2: n log2(n) / 2 products. REQUIRES: the length is a
// power of two.
void transform_by_halves(std::span<Complex> x, std::span<const Complex> roots) {
  reverse_bits(x);
  for (size_t half = 1; half < x.size(); half *= 2) {
    const size_t step = x.size() / (2 * half);
    for (size_t begin = 0; begin < x.size(); begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex even = x[begin + k], odd = x[begin + half + k] * roots[k * step];
        x[begin + k] = even + odd;
        x[begin + half + k] = even - odd;
      }
    }
  }
}

}  // namespace

// A length that is not a power of two becomes a convolution with a chirp (Bluestein), because 2 k t
// = k^2 + t^2 - (k - t)^2. The convolution is computed by transforms of a power of two m >= 2 n -
// 1, long enough that it does not wrap around.
Fourier::Fourier(size_t n) : n_(n) {
  if (std::has_single_bit(n)) {
    roots_ = roots_of(n);
    return;
  }
  const size_t m = std::bit_ceil(2 * n - 1);
  roots_ = roots_of(m);
  chirp_.resize(n);
  filter_.assign(m, 0);
  for (size_t k = 0; k < n; ++k) {
    // k^2 is reduced before it becomes a double, where it would lose its last digits.
    chirp_[k] = turn(static_cast<double>(k * k % (2 * n)) / static_cast<double>(2 * n));
    filter_[k] = std::conj(chirp_[k]);
    if (k > 0) filter_[m - k] = filter_[k];
  }
  transform_by_halves(filter_, roots_);
}

void Fourier::forward(std::span<Complex> x) {
  if (chirp_.empty()) return transform_by_halves(x, roots_);
  const size_t m = filter_.size();
  padded_.assign(m, 0);
  for (size_t k = 0; k < n_; ++k) padded_[k] = x[k] * chirp_[k];
  transform_by_halves(padded_, roots_);
  // The inverse transform is a forward transform of the conjugates, up to the factor 1 / m.
  for (size_t k = 0; k < m; ++k) padded_[k] = std::conj(padded_[k] * filter_[k]);
  transform_by_halves(padded_, roots_);
  for (size_t k = 0; k < n_; ++k) {
    x[k] = std::conj(padded_[k]) * chirp_[k] / static_cast<double>(m);
  }
}

void Fourier::transform(std::span<Complex> x, bool inverse) {
  if (!inverse) return forward(x);
  for (Complex& value : x) value = std::conj(value);
  forward(x);
  for (Complex& value : x) value = std::conj(value) / static_cast<double>(n_);
}

Result<int64_t> require_length(int64_t length, std::string_view what) {
  if (length >= 1 && length <= kMaxLength) return length;
  return invalid(std::string(what) + " " + std::to_string(length) + " is out of range");
}

Result<int64_t> require_length(const Operand& operand, std::string_view what) {
  SHOAL_ASSIGN(std::vector<int64_t> values, require_ints(operand));
  if (values.size() != 1) return invalid(std::string(what) + " should be one number");
  return require_length(values[0], what);
}

}  // namespace shoal::ops
