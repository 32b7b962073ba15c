#include "shoal/train/distributed/exchange/merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shoal/base/math/random.h"

namespace shoal::learn {
namespace {

const StepTypes kTypes{.gradients = {{DType::kF32, {4, 9}}, {DType::kF32, {4}}},
                       .statistics = {{DType::kF32, {4}}}};

std::vector<Tensor> random_tensors(uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const auto* types : {&kTypes.gradients, &kTypes.statistics}) {
    for (const TensorType& type : *types) {
      fill_normal(tensors.emplace_back(type).data<float>(), RandomStream(seed, tensors.size()), 1);
    }
  }
  return tensors;
}

Merger make(CodecKind kind) {
  auto merger = Merger::create({.codec = {.kind = kind}, .levels = 2}, kTypes);
  SHOAL_CHECK(merger.ok());
  return *std::move(merger);
}

// Micro-batches [first, end) of four, whose sums are random.
Contribution contribution(CodecKind kind, int64_t first, int64_t end) {
  auto codec = StepCodec::create({.kind = kind}, kTypes);
  Contribution result{.first = first, .end = end, .loss = 0.25 * static_cast<double>(end - first)};
  const size_t messages = codec->is_exact() ? subtrees_of(first, end).size() : 1;
  for (size_t i = 0; i < messages; ++i) {
    const uint64_t seed = static_cast<uint64_t>(first) * 10 + i;
    SHOAL_CHECK(codec->encode(random_tensors(seed), result.message).ok());
  }
  return result;
}

TEST(Merger, DoesNotDependOnTheOrderOfArrival) {
  for (const CodecKind kind : all_codecs()) {
    std::vector<Contribution> parts = {contribution(kind, 0, 1), contribution(kind, 1, 3),
                                       contribution(kind, 3, 4)};
    std::vector<std::byte> message;
    do {
      Merger merger = make(kind);
      for (const Contribution& part : parts) ASSERT_TRUE(merger.add(part).ok());
      ASSERT_TRUE(merger.is_complete());
      const auto merged = merger.finish();
      ASSERT_TRUE(merged.ok());
      EXPECT_DOUBLE_EQ(merged->loss, 1);
      if (message.empty()) message = merged->message;
      EXPECT_EQ(merged->message, message) << name_of(kind);
    } while (std::ranges::next_permutation(parts, {}, &Contribution::first).found);
  }
}

// Three of four micro-batches count as much as all would.
TEST(Merger, GivesTheMeanOfWhatHasCome) {
  Merger merger = make(CodecKind::kF32);
  ASSERT_TRUE(merger.add(contribution(CodecKind::kF32, 2, 3)).ok());
  const auto merged = merger.finish();
  ASSERT_TRUE(merged.ok());
  EXPECT_DOUBLE_EQ(merged->loss, 1);
  const auto tensors = merger.codec().decode(merged->message);
  ASSERT_TRUE(tensors.ok());
  const std::vector<Tensor> sent = random_tensors(20);
  for (size_t i = 0; i < sent.size(); ++i) {
    for (size_t k = 0; k < sent[i].data<float>().size(); ++k) {
      EXPECT_EQ((*tensors)[i].data<float>()[k], 4 * sent[i].data<float>()[k]);
    }
  }
  EXPECT_EQ(merger.micro_batches(), 0);  // a new step
}

TEST(Merger, RefusesHostileContributionsAndGoesOn) {
  for (const CodecKind kind : {CodecKind::kF32, CodecKind::kOneBit}) {
    Merger merger = make(kind);
    ASSERT_TRUE(merger.add(contribution(kind, 1, 3)).ok());
    const auto refused = [&](Contribution bad) { return merger.add(bad).code(); };
    EXPECT_EQ(refused(contribution(kind, 2, 3)), Code::kInvalidArgument);
    EXPECT_EQ(refused(contribution(kind, 0, 4)), Code::kInvalidArgument);
    Contribution bad = contribution(kind, 3, 4);
    for (const auto& [first, end] : {std::pair<int64_t, int64_t>{-1, 0}, {3, 3}, {4, 3}, {3, 5}}) {
      bad.first = first;
      bad.end = end;
      EXPECT_EQ(refused(bad), Code::kInvalidArgument);
    }
    bad = contribution(kind, 3, 4);
    bad.message.pop_back();
    EXPECT_EQ(refused(bad), Code::kCorrupt);
    bad.message.assign(bad.message.size() + 1, std::byte{0xff});  // NaN
    EXPECT_EQ(refused(bad), Code::kCorrupt);
    EXPECT_EQ(merger.micro_batches(), 2);
    ASSERT_TRUE(merger.add(contribution(kind, 0, 1)).ok());
    ASSERT_TRUE(merger.add(contribution(kind, 3, 4)).ok());
    EXPECT_TRUE(merger.finish().ok());
    EXPECT_EQ(merger.finish().status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::learn
