#include "shoal/cluster/federated/round_messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "shoal/train/distributed/run/messages_testing.h"

namespace shoal::federated_cluster {
namespace {

RoundMessage secret_round() {
  return {
      .round = 3,
      .epochs = 2,
      .rate_factor = 0.5,
      .mu = 1,
      .seed = 77,
      .secret =
          SecretPart{
              .id = 2,
              .options = {.round = 3, .clients = 4, .length = 5, .neighbours = 3, .threshold = 2},
              .code = {.range = 2, .clients = 4, .most_examples = 64}},
      .weights = {{"w", Tensor::of<float>({2, 1}, {1, 2})}}};
}

std::vector<ToClient> to_client() {
  return {RecipeMessage{{.resize = 8, .channels = 3, .mean = {0.5f}, .std = {0.25f}, .bgr = true},
                        {.crop = 0.5, .shift = 2, .flip = true}},
          secret_round(),
          RoundMessage{.round = 9, .local_steps = 4, .weights = {}},
          CallMessage{4, true},
          SecretMessage{5, {std::byte{1}, std::byte{2}}},
          GoodbyeMessage{}};
}

std::vector<ToServer> to_server() {
  return {JoinedMessage{64},
          UpdateMessage{1, 50, 20, false, 0.25, {{"w", Tensor::of<float>({2}, {3, 4})}}},
          GaveUpMessage{2}, SecretReply{3, 0.5, false, {std::byte{9}}}};
}

TEST(RoundMessages, ComeBackWhole) {
  learn::testing::expect_whole(to_client(), decode_for_client);
  learn::testing::expect_whole(to_server(), decode_for_server);
}

// A client refuses a secure sum that hides nothing: too few of the neighbours are needed to reveal
// a secret, or there are too few clients.
TEST(RoundMessages, RefuseSumsThatHideNothing) {
  RoundMessage message = secret_round();
  ASSERT_TRUE(decode_for_client(encode(ToClient(message))).ok());
  const auto expect_refused = [&](const char* what) {
    EXPECT_EQ(decode_for_client(encode(ToClient(message))).status().code(), Code::kCorrupt) << what;
    message = secret_round();
  };
  message.secret->options.threshold = 1;
  expect_refused("threshold");
  message.secret->options.clients = 2;
  expect_refused("clients");
  message.secret->id = 4;
  expect_refused("id");
  message.secret->code.range = 0;
  expect_refused("range");
  message.mu = -1;
  expect_refused("mu");
  message.epochs = int64_t{1} << 50;
  expect_refused("epochs");
}

// A worker makes images as the recipe says: their size is bounded before.
TEST(RoundMessages, RefuseImagesThatFillTheMemory) {
  const RecipeMessage usual{{.resize = 256, .crop = 224, .channels = 3}, {.shift = 4}};
  ASSERT_TRUE(decode_for_client(encode(ToClient(usual))).ok());
  for (const auto change : {+[](RecipeMessage& m) { m.preprocess.resize = 1 << 20; },
                            +[](RecipeMessage& m) { m.preprocess.crop = 1 << 20; },
                            +[](RecipeMessage& m) { m.preprocess.channels = 1 << 20; },
                            +[](RecipeMessage& m) { m.augment.shift = 1 << 20; }}) {
    RecipeMessage large = usual;
    change(large);
    EXPECT_EQ(decode_for_client(encode(ToClient(large))).status().code(), Code::kCorrupt);
  }
}

TEST(RoundMessages, RefuseHostileBytes) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 5'000; ++i) {
    const auto damage = [&](std::vector<std::byte> bytes) {
      for (size_t k = 0; k < 1 + rng() % 3; ++k) {
        bytes[rng() % bytes.size()] = static_cast<std::byte>(rng());
      }
      static_cast<void>(decode_for_client(bytes));  // no crash, no great memory
      static_cast<void>(decode_for_server(bytes));
    };
    damage(encode(to_client()[rng() % to_client().size()]));
    damage(encode(to_server()[rng() % to_server().size()]));
  }
}

}  // namespace
}  // namespace shoal::federated_cluster
