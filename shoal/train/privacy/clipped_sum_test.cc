#include "shoal/train/privacy/clipped_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shoal/base/math/random.h"

namespace shoal::privacy {
namespace {

const Key kKey = {1, 2, 3};

TEST(SecretStream, HasTheBlockOfRfc8439) {
  // Section 2.3.2: the counter is 1, the nonce 00:00:00:09:00:00:00:4a:00:00:00:00.
  Key key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
  SecretStream stream(key, 0x4a000000, 0x0900000000000001);
  uint32_t words[16];
  stream.fill(words);
  const uint32_t published[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                  0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                  0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                  0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_TRUE(std::ranges::equal(words, published));
}

TEST(SecretStream, IsTheSameInAnyPortions) {
  std::vector<uint32_t> whole(1000), parts(1000);
  SecretStream(kKey, 5).fill(whole);
  SecretStream stream(kKey, 5);
  const RandomStream random(2, 0);
  for (size_t at = 0, i = 0; at < parts.size(); ++i) {
    const size_t count = std::min<size_t>(random.below(200, i), parts.size() - at);
    stream.fill(std::span(parts).subspan(at, count));
    at += count;
  }
  EXPECT_EQ(whole, parts);
  SecretStream(kKey, 6).fill(parts);
  EXPECT_NE(whole, parts);
}

TEST(SecretStream, KeysOfTheSystemDiffer) { EXPECT_NE(fresh_key(), fresh_key()); }

TEST(SecretStream, IsNormal) {
  std::vector<double> normal(200'001);
  SecretStream stream(kKey, 1);
  fill_normal(normal, stream);
  // Shares below -2, -1, 0, 1 and 2; a share deviates by 0.0011 at most.
  const double bounds[] = {-2, -1, 0, 1, 2}, shares[] = {0.02275, 0.15866, 0.5, 0.84134, 0.97725};
  for (size_t b = 0; b < std::size(bounds); ++b) {
    const auto below = std::ranges::count_if(normal, [&](double x) { return x < bounds[b]; });
    EXPECT_NEAR(static_cast<double>(below) / static_cast<double>(normal.size()), shares[b], 0.005);
  }
  double sum = 0, squares = 0, products = 0;
  for (size_t i = 0; i + 1 < normal.size(); ++i) {
    sum += normal[i];
    squares += normal[i] * normal[i];
    products += normal[i] * normal[i + 1];
  }
  const auto count = static_cast<double>(normal.size() - 1);
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.015);
  EXPECT_NEAR(products / count, 0, 0.01);
}

TEST(SecretStream, SamplesEachExampleByItself) {
  constexpr size_t kCount = 300;
  std::vector<int> seen(kCount);
  size_t least = kCount, most = 0;
  for (uint64_t step = 0; step < 2000; ++step) {
    SecretStream stream(kKey, step);
    const std::vector<size_t> chosen = sample(kCount, 0.1, stream);
    for (const size_t i : chosen) ++seen[i];
    least = std::min(least, chosen.size());
    most = std::max(most, chosen.size());
  }
  for (const int count : seen) EXPECT_NEAR(count, 200, 75);  // 5.6 deviations
  // Sizes differ, as those of a binomial distribution of deviation 5.2 do.
  EXPECT_LT(least, 18u);
  EXPECT_GT(least, 3u);
  EXPECT_GT(most, 42u);
  EXPECT_LT(most, 60u);
  SecretStream stream(kKey, 0);
  EXPECT_TRUE(sample(kCount, 0, stream).empty());
  EXPECT_EQ(sample(kCount, 1, stream).size(), kCount);
}

// Gradients of random lengths, among them zero.
std::vector<Tensor> random_gradient(uint64_t number) {
  const double scale = number % 7 == 0 ? 0 : std::pow(10, static_cast<double>(number % 5) - 3);
  std::vector<Tensor> gradient{Tensor({DType::kF32, {5, 7}}), Tensor({DType::kF32, {3}})};
  for (size_t t = 0; t < gradient.size(); ++t) {
    shoal::fill_normal(gradient[t].data<float>(), RandomStream(3, number).child(t), scale);
  }
  return gradient;
}

TEST(ClippedSum, IsThatOfALoop) {
  for (const double clip : {0.01, 0.5, 3.0, 1e6}) {
    ClippedSum sum(random_gradient(0), clip);
    std::vector<std::vector<double>> expected{std::vector<double>(35), std::vector<double>(3)};
    size_t clipped = 0;
    for (uint64_t example = 0; example < 50; ++example) {
      const std::vector<Tensor> gradient = random_gradient(example);
      double squares = 0;
      for (const Tensor& part : gradient) {
        for (const float x : part.data<float>()) squares += double{x} * double{x};
      }
      const double factor = std::min(1.0, clip / std::max(std::sqrt(squares), 1e-300));
      clipped += factor < 1;
      for (size_t t = 0; t < 2; ++t) {
        const auto part = gradient[t].data<float>();
        for (size_t i = 0; i < part.size(); ++i) expected[t][i] += factor * double{part[i]};
      }
      ASSERT_TRUE(sum.add(gradient).ok());
    }
    EXPECT_EQ(sum.clipped(), clipped);
    EXPECT_EQ(sum.added(), 50u);
    std::vector<Tensor> released(2);
    SecretStream stream(kKey, 0);
    sum.release(0, 10, stream, released);
    for (size_t t = 0; t < 2; ++t) {
      for (size_t i = 0; i < expected[t].size(); ++i) {
        EXPECT_NEAR(released[t].data<float>()[i], expected[t][i] / 10,
                    1e-6 * std::min(clip, 100.0));
      }
    }
  }
}

TEST(ClippedSum, NoExampleCountsForMoreThanTheBound) {
  for (uint64_t example = 1; example < 50; ++example) {
    ClippedSum sum(random_gradient(0), 0.25);
    ASSERT_TRUE(sum.add(random_gradient(example)).ok());
    std::vector<Tensor> released(2);
    SecretStream stream(kKey, 0);
    sum.release(0, 1, stream, released);
    double squares = 0;
    for (const Tensor& part : released) {
      for (const float x : part.data<float>()) squares += double{x} * double{x};
    }
    EXPECT_LE(std::sqrt(squares), 0.25 * (1 + 1e-6));
  }
}

TEST(ClippedSum, NoiseHasTheDeviationThatTheAccountantCounts) {
  const Tensor weights({DType::kF32, {40'000}});
  ClippedSum sum(std::span(&weights, 1), 0.5);
  Tensor released;
  SecretStream stream(kKey, 0);
  sum.release(1.2, 16, stream, std::span(&released, 1));
  double squares = 0;
  for (const float x : released.data<float>()) squares += double{x} * double{x};
  EXPECT_NEAR(std::sqrt(squares / 40'000), 1.2 * 0.5 / 16, 0.02 * 1.2 * 0.5 / 16);
  // The next release has other noise, and nothing of the last.
  const Tensor before = released.clone();
  sum.release(1.2, 16, stream, std::span(&released, 1));
  EXPECT_FALSE(std::ranges::equal(before.bytes(), released.bytes()));
}

TEST(ClippedSum, RefusesWhatIsNoNumber) {
  ClippedSum sum(random_gradient(0), 1);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<Tensor> gradient = random_gradient(1);
    gradient[1].data<float>()[2] = bad;
    EXPECT_EQ(sum.add(gradient).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(sum.added(), 0u);
  std::vector<Tensor> released(2);
  SecretStream stream(kKey, 0);
  sum.release(0, 1, stream, released);
  for (const float x : released[0].data<float>()) EXPECT_EQ(x, 0);
}

}  // namespace
}  // namespace shoal::privacy
