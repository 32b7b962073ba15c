#include "shoal/model/ops/signal/fourier.h"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <random>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Tensor scalar(int64_t value) { return Tensor::of<int64_t>({}, {value}); }

std::vector<Complex> random_line(size_t n) {
  std::mt19937 rng(static_cast<uint32_t>(n));
  std::normal_distribution<double> normal;
  std::vector<Complex> line(n);
  for (Complex& x : line) x = {normal(rng), normal(rng)};
  return line;
}

TEST(Fourier, IsItsDefinitionAtEveryLength) {
  for (size_t n : std::initializer_list<size_t>{1, 2, 3, 4, 5, 7, 8, 12, 31, 60, 64, 97}) {
    const std::vector<Complex> x = random_line(n);
    std::vector<Complex> y = x;
    Fourier(n).transform(y, false);
    for (size_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (size_t t = 0; t < n; ++t) {
        const double part = static_cast<double>(k * t) / static_cast<double>(n);
        sum += x[t] * std::polar(1.0, -2 * std::numbers::pi * part);
      }
      EXPECT_NEAR(std::abs(y[k] - sum), 0, 1e-10) << "frequency " << k << " of " << n;
    }
  }
}

TEST(Fourier, ComesBack) {
  for (size_t n : std::initializer_list<size_t>{1, 6, 16, 1000}) {
    const std::vector<Complex> x = random_line(n);
    std::vector<Complex> y = x;
    Fourier fourier(n);
    fourier.transform(y, false);
    fourier.transform(y, true);
    for (size_t k = 0; k < n; ++k) EXPECT_NEAR(std::abs(y[k] - x[k]), 0, 1e-10);
  }
}

TEST(Dft, PadsOrCutsTheSignal) {
  const Tensor x = floats({1, 3, 1}, {1, 2, 4});
  expect_output(evaluate(dft, {x, scalar(1)}), floats({1, 1, 2}, {1, 0}));
  expect_output(evaluate(dft, {x, scalar(4)}, {{"onesided", int64_t{1}}}),
                floats({1, 3, 2}, {7, 0, -3, -2, 3, 0}));
}

TEST(Dft, RefusesWhatItCannotMean) {
  const Tensor real = counting({1, 4, 1}), complex = counting({1, 4, 2});
  expect_refused(evaluate(dft, {counting({1, 4, 3})}), "1 or 2");
  expect_refused(evaluate(dft, {real}, {{"axis", int64_t{2}}}), "last axis");
  expect_refused(evaluate(dft, {real}, {{"axis", int64_t{3}}}), "out of range");
  expect_refused(evaluate(dft, {complex}, {{"onesided", int64_t{1}}}), "real");
  expect_refused(evaluate(dft, {real, scalar(0)}), "out of range");
  expect_refused(evaluate(dft, {real, scalar(-4)}), "out of range");
  expect_refused(evaluate(dft, {real, scalar(int64_t{1} << 40)}), "out of range");
  expect_refused(evaluate(dft, {counting({1, 0, 1})}), "out of range");
}

TEST(Stft, TransformsEveryFrame) {
  // Frames 1 2, 3 4 of the signal, each weighed by 1 and 2.
  expect_output(
      evaluate(stft, {floats({1, 5, 1}, {1, 2, 3, 4, 5}), scalar(2), floats({2}, {1, 2})}),
      floats({1, 2, 2, 2}, {5, 0, -3, 0, 11, 0, -5, 0}));
}

TEST(Stft, RefusesWhatItCannotMean) {
  const Tensor signal = counting({1, 5, 1});
  expect_refused(evaluate(stft, {signal, scalar(2)}), "window or a frame_length");
  expect_refused(evaluate(stft, {signal, scalar(0), Tensor(), scalar(2)}), "frame_step");
  expect_refused(evaluate(stft, {signal, scalar(1), Tensor(), scalar(6)}), "does not fit");
  expect_refused(evaluate(stft, {signal, scalar(1), counting({3}), scalar(2)}), "as long as");
  expect_refused(evaluate(stft, {counting({1, 5, 2}), scalar(1), counting({3})}), "real");
}

TEST(Windows, ArePeriodicOrSymmetric) {
  auto hann = [](int64_t size, int64_t periodic) {
    auto y = evaluate(hann_window, {scalar(size)}, {{"periodic", periodic}});
    const auto elements = (*y)[0].data<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  EXPECT_EQ(hann(4, 1), (std::vector<float>{0, 0.5f, 1, 0.5f}));
  EXPECT_EQ(hann(3, 0), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(hann(1, 0), (std::vector<float>{1}));
  EXPECT_TRUE(hann(0, 1).empty());
}

TEST(Windows, RefuseSizesAndTypesThatAreNone) {
  expect_refused(evaluate(hamming_window, {scalar(-1)}), "dimension -1");
  expect_refused(evaluate(blackman_window, {ints({1, 2})}), "one number");
  expect_refused(evaluate(hann_window, {scalar(2)}, {{"output_datatype", int64_t{8}}}),
                 "element type 8");
  expect_refused(evaluate(hann_window, {scalar(2)}, {{"output_datatype", int64_t{9}}}), "number");
}

TEST(MelWeightMatrix, RefusesWhatIsNoSpectrum) {
  auto matrix = [](int64_t bands, int64_t length, int64_t rate, float low, float high) {
    return evaluate(mel_weight_matrix, {scalar(bands), scalar(length), scalar(rate),
                                        floats({}, {low}), floats({}, {high})});
  };
  EXPECT_TRUE(matrix(4, 16, 8000, 0, 4000).ok());
  EXPECT_TRUE(matrix(4, 16, 8000, 0, 1e38f).ok());  // beyond every frequency
  expect_refused(matrix(-1, 16, 8000, 0, 4000), "num_mel_bins");
  expect_refused(matrix(4, -16, 8000, 0, 4000), "dft_length");
  expect_refused(matrix(4, 16, 0, 0, 4000), "sample_rate");
  expect_refused(matrix(4, 16, 8000, -1, 4000), "frequency");
  expect_refused(matrix(4, 16, 8000, 0, std::numeric_limits<float>::quiet_NaN()), "frequency");
}

}  // namespace
}  // namespace shoal::ops
