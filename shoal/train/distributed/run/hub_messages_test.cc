#include "shoal/train/distributed/run/hub_messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "shoal/train/distributed/run/messages_testing.h"

namespace shoal::learn {
namespace {

std::vector<std::byte> some_bytes(size_t count) { return {count, std::byte{7}}; }

std::vector<ToWorker> to_worker() {
  return {StateMessage{
              3,
              {{"w", Tensor::of<float>({2, 1}, {1, 2})}, {"steps", Tensor::of<int64_t>({}, {9})}},
              {{"error", Tensor::of<float>({2}, {3, 4})}}},
          AssignMessage{4, 1, 3, 8, 0.25, StatisticsUse::skips()},
          PullMessage{5, 0.5, {0.75f, 0.5f}, StatisticsUse::averages(3), some_bytes(9)},
          LateMessage{6},
          GoodbyeMessage{},
          SaveMessage{7}};
}

std::vector<ToHub> to_hub() {
  return {SyncedMessage{1}, PushMessage{2, {0, 4, 0.25, some_bytes(5)}},
          AppliedMessage{3, 77, 2, 0.5}, SavedMessage{4, {{"e", Tensor::of<float>({1}, {5})}}}};
}

TEST(Messages, ComeBackWhole) {
  testing::expect_whole(to_worker(), decode_for_worker);
  testing::expect_whole(to_hub(), decode_for_hub);
}

// B6: what a push and a pull need besides the gradients.
TEST(Messages, AddFewBytes) {
  EXPECT_LE(encode(ToHub(PushMessage{1, {0, 8, 1, some_bytes(58'560)}})).size(), 58'560u + 64);
  EXPECT_LE(encode(ToWorker(PullMessage{.step = 1, .merged = some_bytes(58'560)})).size(),
            58'560u + 64);
}

TEST(Messages, RefuseUsesOfStatisticsThatAreNone) {
  std::vector<std::byte> bytes = encode(ToWorker(AssignMessage{4, 1, 3, 8, 0.25}));
  ASSERT_TRUE(decode_for_worker(bytes).ok());
  const int64_t none = -3;
  std::memcpy(bytes.data() + bytes.size() - sizeof(none), &none, sizeof(none));
  EXPECT_EQ(decode_for_worker(bytes).status().code(), Code::kCorrupt);
}

TEST(Messages, RefuseTimesThatAreNone) {
  for (const double seconds : {-1.0, 1e300, std::nan("")}) {
    const auto bytes = encode(ToHub(PushMessage{2, {0, 4, 0.25, some_bytes(5)}, seconds}));
    EXPECT_EQ(decode_for_hub(bytes).status().code(), Code::kCorrupt);
    if (seconds == 1e300) continue;  // no time, but a norm
    const auto norm = encode(ToHub(AppliedMessage{3, 77, 2, seconds}));
    EXPECT_EQ(decode_for_hub(norm).status().code(), Code::kCorrupt);
  }
}

// 2^62 times 4 elements are none where a product overflows.
TEST(Messages, RefuseDimensionsThatOverflow) {
  std::vector<std::byte> bytes =
      encode(ToHub(SavedMessage{3, {{"w", Tensor::of<float>({2, 1}, {1, 2})}}}));
  const std::vector<int64_t> hostile = {int64_t{1} << 62, 4};
  bytes.resize(bytes.size() - 2 * sizeof(float));
  std::memcpy(bytes.data() + bytes.size() - 16, hostile.data(), 16);
  EXPECT_EQ(decode_for_hub(bytes).status().code(), Code::kCorrupt);
}

TEST(Messages, RefuseHostileBytes) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = encode(to_worker()[rng() % to_worker().size()]);
    for (size_t k = 0; k < 1 + rng() % 3; ++k) {
      bytes[rng() % bytes.size()] = static_cast<std::byte>(rng());
    }
    static_cast<void>(decode_for_worker(bytes));  // no crash, no great memory
    static_cast<void>(decode_for_hub(bytes));
  }
  const std::vector<std::byte> ones(100, std::byte{0xff});
  EXPECT_EQ(decode_for_worker(ones).status().code(), Code::kCorrupt);
  EXPECT_EQ(decode_for_hub(ones).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace shoal::learn
