// Passes over one row of floats, of which softmax and the normalisations are made. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>

namespace shoal::cpu {

// Sum of n elements, accurate for long rows.
double sum_of(const float* x, int64_t n);

// y_i = exp(x_i) / sum_k exp(x_k); x and y may be the same memory.
void softmax_row(const float* x, float* y, int64_t n);

// The same for several lines at once: element i of line l is x[l * apart + i * step]. x and y may
// be the same memory. REQUIRES: the last element of a vector of lines is less than 2^31 elements
// away.
void softmax_lines(const float* x, float* y, int64_t lines, int64_t n, int64_t step, int64_t apart);

// x_i *= factor
void scale_row(float factor, float* x, int64_t n);

// Online softmax, for a row that comes in parts. Each part is replaced by its exponentials,
// measured from the largest element so far. Results of earlier parts must be multiplied by the
// returned factor, and all of them divided by the sum at the end.
struct SoftmaxSoFar {
  float top = -std::numeric_limits<float>::infinity();
  double sum = 0;
};
float softmax_part(float* x, int64_t n, SoftmaxSoFar& so_far);

// Mean and variance (biased), in two passes.
struct MeanAndVariance {
  double mean = 0, variance = 0;
};
MeanAndVariance mean_and_variance(const float* x, int64_t n);

// y_i = (x_i - mean) * factor * scale_i + shift_i. Null stands for 1 and 0.
void normalize_row(const float* x, float mean, float factor, const float* scale, const float* shift,
                   float* y, int64_t n);

// y_i = (x_i - mean) * factor + shift
void normalize_plane(const float* x, float mean, float factor, float shift, float* y, int64_t n);

}  // namespace shoal::cpu
