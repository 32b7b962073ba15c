#include "shoal/train/distributed/codec/gradient_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "shoal/base/math/random.h"
#include "shoal/train/distributed/codec/kernels.h"

namespace shoal::learn {
namespace {

// Sizes around whole vectors and bytes, filters, matrices, vectors.
const std::vector<TensorType> kTypes = {{DType::kF32, {20, 1, 5, 5}}, {DType::kF32, {20}},
                                        {DType::kF32, {7, 129}},      {DType::kF32, {1}},
                                        {DType::kF32, {3, 1000}},     {DType::kF32, {64, 64}}};

std::vector<Tensor> zeros(std::span<const TensorType> types) {
  std::vector<Tensor> tensors;
  for (const TensorType& type : types) tensors.emplace_back(type);
  return tensors;
}

std::vector<Tensor> random_gradients(std::span<const TensorType> types, uint64_t seed) {
  std::vector<Tensor> tensors = zeros(types);
  for (size_t i = 0; i < tensors.size(); ++i) {
    fill_normal(tensors[i].data<float>(), RandomStream(seed, i), 0.1 * static_cast<double>(i + 1));
  }
  return tensors;
}

GradientCodec make(CodecKind kind, std::span<const TensorType> types = kTypes,
                   CodecOptions options = {}) {
  options.kind = kind;
  auto codec = GradientCodec::create(options, types);
  SHOAL_CHECK(codec.ok());
  return *std::move(codec);
}

std::vector<std::byte> encoded(GradientCodec& codec, std::span<const Tensor> gradients) {
  std::vector<std::byte> bytes(codec.bytes());
  SHOAL_CHECK(codec.encode(gradients, bytes).ok());
  return bytes;
}

std::vector<Tensor> decoded(GradientCodec& codec, std::span<const std::byte> bytes,
                            std::span<const TensorType> types = kTypes) {
  std::vector<Tensor> tensors = zeros(types);
  SHOAL_CHECK(codec.decode(bytes, tensors).ok());
  return tensors;
}

void add(std::span<Tensor> sum, std::span<const Tensor> more, float factor = 1) {
  for (size_t i = 0; i < sum.size(); ++i) {
    const auto to = sum[i].data<float>();
    const auto from = more[i].data<float>();
    for (size_t k = 0; k < to.size(); ++k) to[k] += factor * from[k];
  }
}

float largest(std::span<const Tensor> tensors) {
  float most = 0;
  for (const Tensor& tensor : tensors) {
    for (float x : tensor.data<float>()) most = std::max(most, std::abs(x));
  }
  return most;
}

std::vector<Tensor> error_of(const GradientCodec& codec, std::span<const TensorType> types) {
  std::vector<Tensor> error = zeros(types);
  const auto state = codec.state();
  for (size_t i = 0; i < types.size(); ++i) {
    const auto found = state.find("codec.error." + std::to_string(i));
    if (found != state.end()) error[i] = found->second.clone();
  }
  return error;
}

class EveryCodec : public ::testing::TestWithParam<CodecKind> {};
INSTANTIATE_TEST_SUITE_P(All, EveryCodec,
                         ::testing::ValuesIn(all_codecs().begin(), all_codecs().end()),
                         [](const auto& kind) {
                           return "codec_" + std::string(name_of(kind.param));
                         });

TEST(CodecNames, LeadBack) {
  for (CodecKind kind : all_codecs()) EXPECT_EQ(find_codec(name_of(kind)), kind);
  EXPECT_EQ(find_codec("zip"), std::nullopt);
}

// f32 exactly; the others within the step of their scale, relative to the group's largest or norm.
TEST(Codec, DecodesWithinTheStepOfItsScale) {
  const std::vector<Tensor> gradients = random_gradients(kTypes, 1);
  const std::pair<CodecKind, double> cases[] = {{CodecKind::kF32, 0},
                                                {CodecKind::kF16, 0.0005},
                                                {CodecKind::kInt8, 0.5 / 127 + 1e-6},
                                                {CodecKind::kTern, 1}};
  for (const auto& [kind, step] : cases) {
    GradientCodec codec = make(kind);
    const std::vector<Tensor> back = decoded(codec, encoded(codec, gradients));
    for (size_t i = 0; i < kTypes.size(); ++i) {
      const Groups groups = groups_of(kTypes[i].shape);
      for (size_t g = 0; g < groups.count; ++g) {
        const auto x = gradients[i].data<float>().subspan(g * groups.size, groups.size);
        const auto y = back[i].data<float>().subspan(g * groups.size, groups.size);
        float most = 0;
        for (float value : x) most = std::max(most, std::abs(value));
        for (size_t k = 0; k < groups.size; ++k) {
          EXPECT_LE(std::abs(x[k] - y[k]), step * double{most}) << name_of(kind) << i << "," << k;
        }
      }
    }
  }
}

// [Mao 2017b]: the bit at zero is 1, and the levels are the means of the two sides.
TEST(OneBit, DecodesToTheMeansOfTheSides) {
  const std::vector<TensorType> types = {{DType::kF32, {2, 3}}};
  GradientCodec codec = make(CodecKind::kOneBit, types);
  const std::vector<Tensor> g = {Tensor::of<float>({2, 3}, {0, 2, -3, -1, -2, -6})};
  const std::vector<Tensor> back = decoded(codec, encoded(codec, g), types);
  const std::vector<float> wanted = {1, 1, -3, -3, -3, -3};
  EXPECT_TRUE(std::ranges::equal(back[0].data<float>(), wanted));
  const std::vector<float> error = {-1, 1, 0, 2, 1, -3};
  EXPECT_TRUE(std::ranges::equal(error_of(codec, types)[0].data<float>(), error));
}

// What was decoded and what is carried along add up to all gradients: nothing is lost.
TEST(Codec, WithFeedbackLosesNothingOverManySteps) {
  CodecOptions options;
  options.momentum = 0;  // otherwise topk sends more than the gradients: their momentum
  for (const CodecKind kind : {CodecKind::kOneBit, CodecKind::kPowerSgd, CodecKind::kTopK}) {
    GradientCodec codec = make(kind, kTypes, options);
    std::vector<Tensor> difference = zeros(kTypes);
    for (uint64_t step = 0; step < 30; ++step) {
      const std::vector<Tensor> gradients = random_gradients(kTypes, step);
      add(difference, gradients);
      add(difference, decoded(codec, encoded(codec, gradients)), -1);
    }
    add(difference, error_of(codec, kTypes), -1);
    EXPECT_LT(largest(difference), 1e-4f) << name_of(kind);
  }
}

TEST(Codec, WithoutFeedbackForgetsWhatWasNotSent) {
  CodecOptions options;
  options.feedback = false;
  for (CodecKind kind : {CodecKind::kOneBit, CodecKind::kPowerSgd, CodecKind::kTopK}) {
    GradientCodec codec = make(kind, kTypes, options);
    encoded(codec, random_gradients(kTypes, 1));
    EXPECT_EQ(codec.carried_norm(), 0) << name_of(kind);
  }
}

// The mean of n draws is off by the deviation of one over sqrt(n); TernGrad's is at most half its
// largest element, QSGD's at most half its unit.
TEST(Codec, StochasticOnesHaveTheGradientAsTheirMean) {
  const std::vector<TensorType> types = {{DType::kF32, {4, 65}}};
  const std::vector<Tensor> gradients = random_gradients(types, 3);
  constexpr int kDraws = 4000;
  for (CodecKind kind : {CodecKind::kTern, CodecKind::kQsgd}) {
    GradientCodec codec = make(kind, types);
    std::vector<double> mean(4 * 65);
    for (int draw = 0; draw < kDraws; ++draw) {
      const Tensor back = decoded(codec, encoded(codec, gradients), types)[0];
      for (size_t k = 0; k < mean.size(); ++k) mean[k] += double{back.data<float>()[k]} / kDraws;
    }
    const double bound = 5 * 0.5 * double{largest(gradients)} / std::sqrt(kDraws);
    for (size_t k = 0; k < mean.size(); ++k) {
      EXPECT_NEAR(mean[k], double{gradients[0].data<float>()[k]}, bound) << name_of(kind) << k;
    }
  }
}

// QSGD: the squared error is at most min(n / s^2, sqrt(n) / s) times the squared norm, in the mean.
TEST(Qsgd, HasTheVarianceOfItsLevels) {
  const std::vector<TensorType> types = {{DType::kF32, {400}}};
  const std::vector<Tensor> gradients = random_gradients(types, 4);
  double norm = 0;
  for (float x : gradients[0].data<float>()) norm += double{x} * double{x};
  for (int bits : {2, 4, 7}) {
    CodecOptions options;
    options.qsgd_bits = bits;
    GradientCodec codec = make(CodecKind::kQsgd, types, options);
    const double s = (1 << (bits - 1)) - 1;
    double error = 0;
    constexpr int kDraws = 200;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<Tensor> back = decoded(codec, encoded(codec, gradients), types);
      add(back, gradients, -1);
      for (float x : back[0].data<float>()) error += double{x} * double{x} / kDraws;
    }
    EXPECT_LE(error, std::min(400 / (s * s), 20 / s) * norm * 1.1) << bits;
    EXPECT_GT(error, 0) << bits;
  }
}

// y_k is the sum of x_i over all i that differ from k in the mixed digits only, with the sign of
// (-1)^(digits that are 1 in both).
TEST(Hadamard, IsTheProductWithItsMatrix) {
  for (const size_t apart : {1u, 16u}) {
    for (size_t size = apart; size <= 64 * apart; size *= 2) {
      std::vector<float> x(size), y;
      for (size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i * i % 17) - 8;
      y = x;
      hadamard(y, apart);
      for (size_t k = 0; k < size; ++k) {
        float want = 0;
        for (size_t i = k % apart; i < size; i += apart) {
          want += std::popcount(i / apart & k / apart) % 2 == 0 ? x[i] : -x[i];
        }
        EXPECT_EQ(y[k], want) << "size " << size << ", apart " << apart << ", at " << k;
      }
    }
  }
}

// What is decoded has the gradient's own part whole, and beside it, at random, about pi/2 - 1 of
// its square: so has their mean over n draws, divided by n.
TEST(Drive, LosesWhatAveragesOut) {
  const std::vector<TensorType> types = {{DType::kF32, {4096 + 1024 + 100}}};
  const std::vector<Tensor> gradients = random_gradients(types, 3);
  const auto product = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (size_t k = 0; k < a.data<float>().size(); ++k) {
      sum += double{a.data<float>()[k]} * double{b.data<float>()[k]};
    }
    return sum;
  };
  const double square = product(gradients[0], gradients[0]);
  constexpr int kDraws = 200;
  GradientCodec codec = make(CodecKind::kDrive, types);
  std::vector<Tensor> mean = zeros(types);
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<Tensor> back = decoded(codec, encoded(codec, gradients), types);
    EXPECT_NEAR(product(back[0], gradients[0]), square, 1e-4 * square);
    add(mean, back, 1.0f / kDraws);
    add(back, gradients, -1);
    EXPECT_NEAR(product(back[0], back[0]), 0.571 * square, 0.1 * square);
  }
  add(mean, gradients, -1);
  EXPECT_LT(product(mean[0], mean[0]), 1.5 * 0.571 / kDraws * square);
}

// The logistic regression of the FedProx scenario: no more than 1 bit with two means per row.
TEST(Drive, NeedsOneBitAnElement) {
  const std::vector<TensorType> types = {{DType::kF32, {10, 784}}, {DType::kF32, {10}}};
  EXPECT_EQ(make(CodecKind::kDrive, types).bytes(), 4 + 6 * 4 + (7808 + 64) / 8 + 40u);
  EXPECT_LE(make(CodecKind::kDrive, types).bytes(), make(CodecKind::kOneBit, types).bytes());
}

TEST(PowerSgd, GivesBackAMatrixOfItsRank) {
  const std::vector<TensorType> types = {{DType::kF32, {30, 40}}};
  std::vector<Tensor> gradients = zeros(types);
  for (size_t i = 0; i < 30; ++i) {
    for (size_t j = 0; j < 40; ++j) {
      const auto a = static_cast<float>(i), b = static_cast<float>(j);
      gradients[0].data<float>()[i * 40 + j] = a * std::sin(b) + std::cos(a) * b;
    }
  }
  GradientCodec codec = make(CodecKind::kPowerSgd, types);
  std::vector<Tensor> back = decoded(codec, encoded(codec, gradients), types);
  add(back, gradients, -1);
  EXPECT_LT(largest(back), 1e-3f * largest(gradients));
}

TEST(TopK, SendsTheLargestAndKeepsTheRest) {
  const std::vector<TensorType> types = {{DType::kF32, {10'000}}};
  CodecOptions options;
  options.momentum = 0;
  GradientCodec codec = make(CodecKind::kTopK, types, options);
  const std::vector<Tensor> gradients = random_gradients(types, 5);
  const Tensor back = decoded(codec, encoded(codec, gradients), types)[0];
  float least_sent = 1e9f, most_kept = 0;
  size_t sent = 0;
  for (size_t k = 0; k < 10'000; ++k) {
    const float x = gradients[0].data<float>()[k], y = back.data<float>()[k];
    if (y != 0) {
      EXPECT_EQ(x, y);
      least_sent = std::min(least_sent, std::abs(x));
      ++sent;
    } else {
      most_kept = std::max(most_kept, std::abs(x));
    }
  }
  EXPECT_EQ(sent, 100u);
  EXPECT_GE(least_sent, most_kept);
}

// An element that waits for t steps is sent with the momentum that SGD would have given it.
TEST(TopK, CorrectsMomentum) {
  const std::vector<TensorType> types = {{DType::kF32, {2}}};
  CodecOptions options;
  options.density = 0.5;
  options.momentum = 0.5f;
  GradientCodec codec = make(CodecKind::kTopK, types, options);
  const auto send = [&](float a, float b) {
    const std::vector<Tensor> g = {Tensor::of<float>({2}, {a, b})};
    const Tensor back = decoded(codec, encoded(codec, g), types)[0];
    return std::vector<float>(back.data<float>().begin(), back.data<float>().end());
  };
  EXPECT_EQ(send(10, 1), (std::vector<float>{10, 0}));
  EXPECT_EQ(send(0, 0), (std::vector<float>{0, 1.5f}));  // 1, and half of it again
}

// B6: bytes of a worker and direction; LeNet, and ResNet-20 with folded norms.
TEST(OneBit, NeedsTheBytesThatFollowFromTheShapes) {
  const std::vector<TensorType> lenet = {{DType::kF32, {20, 1, 5, 5}},  {DType::kF32, {20}},
                                         {DType::kF32, {50, 20, 5, 5}}, {DType::kF32, {50}},
                                         {DType::kF32, {500, 800}},     {DType::kF32, {500}},
                                         {DType::kF32, {10, 500}},      {DType::kF32, {10}}};
  EXPECT_EQ(make(CodecKind::kOneBit, lenet).bytes(), 58'560u);
  EXPECT_EQ(make(CodecKind::kF32, lenet).bytes(), 1'724'320u);
  EXPECT_EQ(1'724'320u / make(CodecKind::kPowerSgd, lenet).bytes(), 79u);
  std::vector<TensorType> resnet;
  const auto conv = [&](int64_t from, int64_t to) {
    resnet.push_back({DType::kF32, {to, from, 3, 3}});
    resnet.push_back({DType::kF32, {to}});
  };
  conv(3, 16);
  int64_t channels = 16;
  for (const int64_t width : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      conv(channels, width);
      conv(width, width);
      channels = width;
    }
  }
  resnet.push_back({DType::kF32, {10, 64}});
  resnet.push_back({DType::kF32, {10}});
  EXPECT_EQ(make(CodecKind::kOneBit, resnet).bytes(), 39'374u);
}

TEST_P(EveryCodec, RefusesWhatIsNoNumberAndKeepsItsState) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e20f}) {
    GradientCodec codec = make(GetParam()), other = make(GetParam());
    encoded(codec, random_gradients(kTypes, 1));
    encoded(other, random_gradients(kTypes, 1));
    std::vector<Tensor> gradients = random_gradients(kTypes, 2);
    gradients.back().data<float>().back() = bad;  // after all others could have been encoded
    std::vector<std::byte> bytes(codec.bytes());
    EXPECT_EQ(codec.encode(gradients, bytes).code(), Code::kInvalidArgument);
    EXPECT_EQ(codec.carry(gradients).code(), Code::kInvalidArgument);
    EXPECT_EQ(encoded(codec, random_gradients(kTypes, 3)),
              encoded(other, random_gradients(kTypes, 3)));
  }
}

TEST_P(EveryCodec, GoesOnFromItsStateByteByByte) {
  GradientCodec codec = make(GetParam());
  for (uint64_t step = 0; step < 3; ++step) encoded(codec, random_gradients(kTypes, step));
  ASSERT_TRUE(codec.carry(random_gradients(kTypes, 9)).ok());
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : codec.state()) state[name] = tensor.clone();
  GradientCodec resumed = make(GetParam());
  const Status restored = resumed.restore(state);
  ASSERT_TRUE(restored.ok()) << restored.message();
  for (uint64_t step = 3; step < 6; ++step) {
    EXPECT_EQ(encoded(codec, random_gradients(kTypes, step)),
              encoded(resumed, random_gradients(kTypes, step)));
  }
  state["codec.error.2"] = Tensor({DType::kF32, {1}});
  EXPECT_EQ(resumed.restore(state).code(), Code::kCorrupt);
  state.erase("codec.steps");
  EXPECT_EQ(resumed.restore(state).code(), Code::kCorrupt);
}

// Two gradients, of which the first came too late, are sent as their sum would be.
TEST_P(EveryCodec, SendsALateGradientWithTheNext) {
  CodecOptions options;
  options.momentum = 0;
  GradientCodec codec = make(GetParam(), kTypes, options);
  GradientCodec other = make(GetParam(), kTypes, options);
  const std::vector<Tensor> late = random_gradients(kTypes, 1), next = random_gradients(kTypes, 2);
  std::vector<Tensor> sum = random_gradients(kTypes, 1);
  add(sum, next);
  ASSERT_TRUE(codec.carry(late).ok());
  EXPECT_GT(codec.carried_norm(), 0);
  EXPECT_EQ(encoded(codec, next), encoded(other, sum));
  EXPECT_EQ(codec.carried_norm(), other.carried_norm());
}

TEST_P(EveryCodec, DecodesHostileBytesToNumbersOrRefusesThem) {
  GradientCodec codec = make(GetParam());
  std::vector<Tensor> to = zeros(kTypes);
  std::mt19937_64 rng(7);
  const std::vector<std::byte> good = encoded(codec, random_gradients(kTypes, 1));
  EXPECT_EQ(codec.decode(std::span(good).first(good.size() - 1), to).code(), Code::kCorrupt);
  EXPECT_EQ(codec.decode({}, to).code(), Code::kCorrupt);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::byte> bytes = good;
    const size_t changes = i % 3 == 0 ? bytes.size() : 4;
    for (size_t k = 0; k < changes; ++k)
      bytes[rng() % bytes.size()] = static_cast<std::byte>(rng());
    if (!codec.decode(bytes, to).ok()) continue;
    for (const Tensor& tensor : to) {
      for (float x : tensor.data<float>()) ASSERT_TRUE(std::isfinite(x));
    }
  }
  // All ones: NaN as a float, and an index beyond the end.
  const std::vector<std::byte> ones(good.size(), std::byte{0xff});
  EXPECT_EQ(codec.decode(ones, to).code(), Code::kCorrupt);
}

TEST(Codec, RefusesOptionsOutOfRange) {
  const auto code = [](CodecOptions options) {
    return GradientCodec::create(options, kTypes).status().code();
  };
  EXPECT_EQ(code({.qsgd_bits = 8}), Code::kInvalidArgument);
  EXPECT_EQ(code({.rank = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.density = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.momentum = 1}), Code::kInvalidArgument);
  const std::vector<TensorType> ints = {{DType::kI64, {4}}};
  EXPECT_EQ(GradientCodec::create({}, ints).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::learn
