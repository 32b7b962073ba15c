// The discrete Fourier transform of any length in O(n log n), for DFT and STFT.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::ops {

using Complex = std::complex<double>;

// A plan for one length, for many lines. Not thread-safe: transform() uses a buffer of the plan.
class Fourier {
 public:
  explicit Fourier(size_t n);

  // X_k = sum_t x_t exp(-2 pi i k t / n), in place. The inverse has the other sign and divides by
  // n. REQUIRES: x.size() is n.
  void transform(std::span<Complex> x, bool inverse);

 private:
  void forward(std::span<Complex> x);

  size_t n_;
  std::vector<Complex> roots_;   // exp(-2 pi i k / size of the transform by halves)
  std::vector<Complex> chirp_;   // empty if n is a power of two
  std::vector<Complex> filter_;  // the transformed conjugate chirp
  std::vector<Complex> padded_;
};

// Refuses a length below 1 or too large for a plan. The second reads it from a constant of one
// element.
Result<int64_t> require_length(int64_t length, std::string_view what);
Result<int64_t> require_length(const Operand& operand, std::string_view what);

// The number of frequencies of the result.
inline int64_t frequencies(int64_t length, bool onesided) {
  return onesided ? length / 2 + 1 : length;
}

}  // namespace shoal::ops
