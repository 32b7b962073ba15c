// Passes over one row of floats, the steps of softmax and the normalisations. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>

#include "shoal/model/ops/window.h"

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

// Passes over the pixels of one block of channels (blocked.h), for normalisations per channel.
// Lanes are channels. REQUIRES, for all functions: b is block_size().

// Mean of the pixels, and sum of squared distances from it, for each channel. Sums are floats:
// moments of short parts, combined in double, are more accurate than those of a long plane.
void block_moments(const float* x, int64_t pixels, float* mean, float* squares);

// y = (x - mean) * factor + shift, with one element of each per channel.
struct BlockScale {
  const float* mean;
  const float* factor;
  const float* shift;
};
void scale_block(const BlockScale& scale, const float* x, float* y, int64_t pixels);

// Sum of dy, and sum of dy * (x - mean), over the pixels, for each channel.
void block_products(const float* x, const float* mean, const float* dy, int64_t pixels, float* sum,
                    float* along);

// dx = dy * factor + (x - mean) * slope + shift, with one element of each per channel.
struct BlockMix {
  const float* mean;
  const float* factor;
  const float* slope;
  const float* shift;
};
void mix_blocks(const BlockMix& mix, const float* x, const float* dy, float* dx, int64_t pixels);

// Gradients of pools over one block of channels (blocked.h), pixel by pixel: one pixel is one
// vector.

// One block of one image.
struct Spread {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const float* dy = nullptr;  // [rows][columns][b] of the output
  float* dx = nullptr;        // [rows][columns][b], accumulated
};

// Adds dy to the largest element under each window of x, which is laid out as dx. Of equal elements
// the first gets it; a NaN is larger than everything.
void spread_to_largest(const Spread& spread, const float* x);

// Adds dy to all elements under each window, multiplied by shares[pixel of the output].
void spread_evenly(const Spread& spread, const float* shares);

}  // namespace shoal::cpu
