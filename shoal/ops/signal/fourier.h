// The discrete Fourier transform of any length in O(n log n): what DFT and STFT share.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::ops {

using Complex = std::complex<double>;

// Plans once, transforms many lines.
class Fourier {
 public:
  explicit Fourier(size_t n);

  // X_k = sum_t x_t exp(-2 pi i k t / n), in place. The inverse has the other sign and divides by
  // n.
  void transform(std::span<Complex> x, bool inverse);

 private:
  void forward(std::span<Complex> x);

  size_t n_;
  std::vector<Complex> roots_;   // exp(-2 pi i k / size of the transform by halves)
  std::vector<Complex> chirp_;   // empty if n is a power of two
  std::vector<Complex> filter_;  // the transformed conjugate chirp
  std::vector<Complex> padded_;
};

// A length, perhaps a scalar constant: at least 1 and small enough to be planned.
Result<int64_t> require_length(int64_t length, std::string_view what);
Result<int64_t> require_length(const Operand& operand, std::string_view what);

// How many frequencies come out.
inline int64_t frequencies(int64_t length, bool onesided) {
  return onesided ? length / 2 + 1 : length;
}

}  // namespace shoal::ops
