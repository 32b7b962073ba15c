#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shoal/base/math/random.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::federated {
namespace {

using fit::testing::same;

constexpr uint64_t kClient = 7;

Weights make_weights(uint64_t seed) {
  Weights weights;
  for (const auto& [name, shape] : {std::pair<std::string, Shape>{"fc.weight", {6, 40}},
                                    {"fc.bias", {6}},
                                    {"norm.mean", {6}}}) {
    Tensor tensor({DType::kF32, shape});
    fill_normal(tensor.data<float>(), RandomStream(seed, tensor.data<float>().size()), 0.5);
    weights[name] = std::move(tensor);
  }
  return weights;
}

ClientCodecs make_codecs(learn::CodecKind kind = learn::CodecKind::kPowerSgd) {
  auto result = ClientCodecs::create({.kind = kind}, make_weights(1), {"fc.weight", "fc.bias"});
  SHOAL_CHECK(result.ok());
  return *std::move(result);
}

// The length of what the server lacks after n reports in which the client learned the same,
// with some rounds from one to the next.
double lacking_after(ClientCodecs codecs, int reports, int64_t apart = 1) {
  const Weights from = make_weights(1), to = make_weights(2);
  std::vector<double> lacking(6 * 40);
  for (int report = 0; report < reports; ++report) {
    const auto received = codecs.send(report * apart, kClient, from, to);
    SHOAL_CHECK(received.ok());
    for (size_t i = 0; i < lacking.size(); ++i) {
      lacking[i] += double{to.at("fc.weight").data<float>()[i]} -
                    double{received->at("fc.weight").data<float>()[i]};
    }
  }
  double sum = 0;
  for (const double one : lacking) sum += one * one;
  return std::sqrt(sum);
}

// What one round loses is in the next ones: the loss does not grow with the rounds, unless they are
// so far apart that it is forgotten.
TEST(ClientCodecs, SendLaterWhatTheyLost) {
  const double once = lacking_after(make_codecs(), 1);
  EXPECT_GT(once, 0);
  EXPECT_LT(lacking_after(make_codecs(), 64, ClientCodecs::kMostAge), 8 * once);
  EXPECT_GT(lacking_after(make_codecs(), 64, ClientCodecs::kMostAge + 1), 32 * once);
}

// One bit remembers nothing; what it loses has no direction, and grows as the root of the rounds.
TEST(ClientCodecs, LoseAtRandomByOneBit) {
  const double once = lacking_after(make_codecs(learn::CodecKind::kOneBit), 1);
  EXPECT_GT(once, 0);
  EXPECT_LT(lacking_after(make_codecs(learn::CodecKind::kOneBit), 64), 2 * 8 * once);
  EXPECT_EQ(make_codecs(learn::CodecKind::kOneBit).kind(), learn::CodecKind::kDrive);
}

// Of clients that reported long ago nothing is kept.
TEST(ClientCodecs, KeepTheLastRounds) {
  ClientCodecs codecs = make_codecs();
  for (int64_t round = 0; round < 50; ++round) {
    const auto client = static_cast<uint64_t>(round);
    ASSERT_TRUE(codecs.send(round, client, make_weights(1), make_weights(2)).ok());
  }
  EXPECT_EQ(codecs.clients(), static_cast<size_t>(ClientCodecs::kMostAge) + 1);
}

TEST(ClientCodecs, KeepTheErrorsOfClientsApart) {
  ClientCodecs alone = make_codecs(), mixed = make_codecs();
  const Weights from = make_weights(1);
  Weights last_alone, last_mixed;
  for (int64_t round = 2; round < 6; ++round) {
    const auto seed = static_cast<uint64_t>(round);
    last_alone = *alone.send(round, kClient, from, make_weights(seed));
    ASSERT_TRUE(mixed.send(round, kClient + 1, from, make_weights(100 + seed)).ok());
    last_mixed = *mixed.send(round, kClient, from, make_weights(seed));
  }
  EXPECT_TRUE(same(last_mixed, last_alone));
  EXPECT_FALSE(same(*mixed.send(6, kClient + 1, from, make_weights(9)),
                    *mixed.send(6, kClient, from, make_weights(9))));
  EXPECT_EQ(mixed.clients(), 2u);
}

// Statistics of norms are not gradients.
TEST(ClientCodecs, SendStatisticsAsTheyAre) {
  ClientCodecs codecs = make_codecs(learn::CodecKind::kOneBit);
  const Weights to = make_weights(2);
  const auto received = codecs.send(0, kClient, make_weights(1), to);
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(received->size(), to.size());
  EXPECT_TRUE(same({{"m", received->at("norm.mean")}}, {{"m", to.at("norm.mean")}}));
  EXPECT_LT(codecs.bytes(), 4 * (6 * 40 + 6 + 6) / 4u);
}

TEST(ClientCodecs, RefuseWhatIsNoNumberAndCarryNothingOfIt) {
  ClientCodecs codecs = make_codecs(), calm = make_codecs();
  const Weights from = make_weights(1);
  Weights broken;
  for (const auto& [name, tensor] : make_weights(2)) broken[name] = tensor.clone();
  broken["fc.weight"].data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(codecs.send(0, kClient, from, broken).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(same(*codecs.send(1, kClient, from, make_weights(3)),
                   *calm.send(1, kClient, from, make_weights(3))));
}

}  // namespace
}  // namespace shoal::federated
