// What a machine notices about the pieces it was sent.
#include "shoal/cluster/tasks/witness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "messages.pb.h"
#include "random_plan.h"

namespace shoal::cluster {
namespace {

constexpr double kTolerance = 1e-4;
const double kNan = std::nan("");

plan::Piece box(int value, int64_t begin, int64_t end) {
  return {ValueId{value}, {{begin}, {end}}};
}
Tensor floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

// Two copies of a value, checked.
std::vector<Dispute> compared(const Tensor& a, const Tensor& b) {
  Witness witness;
  const plan::Piece piece{ValueId{1}, Region::whole(a.shape())};
  EXPECT_EQ(witness.add(7, "a", piece, a), std::nullopt);
  EXPECT_EQ(witness.check(7, {2, kTolerance}), std::nullopt);
  const auto disputes = witness.add(7, "b", piece, b);
  EXPECT_TRUE(disputes.has_value());
  EXPECT_EQ(witness.kept(), 0u);
  return disputes.value_or(std::vector<Dispute>());
}

TEST(Witness, NamesTheElementThatIsOffMost) {
  const auto disputes = compared(floats({1, 2, 3}), floats({1, 2.1f, 9}));
  ASSERT_EQ(disputes.size(), 1u);
  EXPECT_EQ(disputes[0].index, Shape{2});
  EXPECT_EQ(disputes[0].claims, (std::vector<Claim>{{"a", ValueId{1}, 3}, {"b", ValueId{1}, 9}}));
}

TEST(Witness, AllowsRounding) {
  EXPECT_TRUE(compared(floats({100, 1}), floats({100, 1.005f})).empty())
      << "relative to the largest element";
  EXPECT_FALSE(compared(floats({100, 1}), floats({100, 1.02f})).empty());
  EXPECT_TRUE(compared(floats({NAN, 1}), floats({NAN, 1})).empty());
  EXPECT_FALSE(compared(floats({NAN, 1}), floats({2, 1})).empty());
  EXPECT_FALSE(compared(floats({INFINITY, 1}), floats({1, 1})).empty());
  const auto bytes = [](uint8_t x) { return Tensor::of<uint8_t>({1}, {x}); };
  EXPECT_TRUE(compared(bytes(7), bytes(9)).empty()) << "on the border of two steps";
  EXPECT_FALSE(compared(bytes(7), bytes(10)).empty());
  const auto sum = [](int32_t x) { return Tensor::of<int32_t>({1}, {x}); };
  EXPECT_FALSE(compared(sum(70000), sum(70001)).empty());
}

TEST(Witness, ComparesOnlyWhatBothHave) {
  Witness witness;
  witness.add(7, "a", box(1, 0, 3), floats({1, 2, 3}));
  witness.add(7, "b", box(1, 2, 4), floats({3.5f, 4}));
  const auto disputes = witness.check(7, {2, kTolerance});
  ASSERT_TRUE(disputes && disputes->size() == 1);
  EXPECT_EQ((*disputes)[0].index, Shape{2});
}

TEST(Witness, WaitsUntilAllPiecesAreThere) {
  Witness witness;
  EXPECT_EQ(witness.check(7, {3, kTolerance}), std::nullopt);
  EXPECT_EQ(witness.add(7, "a", box(1, 0, 1), floats({1})), std::nullopt);
  EXPECT_EQ(witness.add(7, "a", box(1, 0, 1), floats({5})), std::nullopt) << "it says it again";
  EXPECT_EQ(witness.add(7, "b", box(1, 0, 1), floats({1})), std::nullopt);
  EXPECT_TRUE(witness.add(7, "", box(2, 0, 1), floats({1})).has_value());
  EXPECT_EQ(witness.add(7, "c", box(1, 0, 1), floats({1})), std::nullopt) << "it is over";
  EXPECT_EQ(witness.kept(), 0u);
}

TEST(Witness, KeepsNothingOfRequestsThatAreForgotten) {
  Witness witness;
  for (uint64_t request = 1; request < 10'000; ++request) {
    witness.add(request, "a", box(1, 0, 1), floats({1}));
    witness.forget(request);
    witness.add(request, "b", box(1, 0, 1), floats({1}));
    ASSERT_EQ(witness.kept(), 0u);
  }
  // Nor of requests that are never asked about: they are bounded.
  for (uint64_t request = 10'000; request < 20'000; ++request) {
    witness.add(request, "a", box(1, 0, 1), floats({1}));
    ASSERT_LE(witness.kept(), 64u);
  }
}

// Data 1 and 2, the second shorter, and their parity 3.
TEST(Witness, NoticesMembersThatDoNotAddUp) {
  const TaskCode code{
      plan::real_coefficients(2, 1), 0, DType::kF32, {box(1, 0, 2), box(2, 0, 1), box(3, 0, 2)}};
  const auto check = [&](float lie_of_data, float lie_of_parity) {
    Witness witness({code});
    witness.add(7, "a", box(1, 0, 2), floats({1, 2 + lie_of_data}));
    witness.add(7, "", box(2, 0, 1), floats({10}));
    witness.add(7, "c", box(3, 0, 2), floats({11 + lie_of_parity, 2}));
    return witness.check(7, {3, kTolerance}).value();
  };
  EXPECT_TRUE(check(0, 0).empty());
  EXPECT_TRUE(check(1e-5f, 0).empty());
  auto disputes = check(1, 0);
  ASSERT_EQ(disputes.size(), 1u);
  EXPECT_EQ(disputes[0].index, Shape{1});
  EXPECT_EQ(disputes[0].claims, (std::vector<Claim>{{"a", ValueId{1}, 3}, {"c", ValueId{3}, 2}}));
  disputes = check(0, 1);
  ASSERT_EQ(disputes.size(), 1u);
  EXPECT_EQ(disputes[0].claims.size(), 3u);
  EXPECT_EQ(disputes[0].claims[1], (Claim{"", ValueId{2}, 10}));
  EXPECT_FALSE(check(static_cast<float>(kNan), 0).empty());
}

TEST(Wire, DisputesComeBackAsTheyWere) {
  const std::vector<Dispute> disputes = {{{1, 2}, {{"a", ValueId{3}, 0.5}, {"", ValueId{4}, -1}}}};
  message::Checked sent;
  encode(disputes, sent);
  const auto back = decode(sent);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, disputes);
}

TEST(Wire, RefusesMoreDisputesThanThereCanBe) {
  message::Checked many;
  for (size_t i = 0; i <= kMostDisputes; ++i) many.add_disputes();
  EXPECT_FALSE(decode(many).ok());
  message::Checked deep;
  for (size_t i = 0; i <= Shape::kMaxRank; ++i) deep.add_disputes()->add_index(0);
  EXPECT_FALSE(decode(deep).ok());
  message::Checked indices;
  for (size_t i = 0; i <= Shape::kMaxRank; ++i) {
    (i == 0 ? indices.add_disputes() : indices.mutable_disputes(0))->add_index(0);
  }
  EXPECT_FALSE(decode(indices).ok());
}

}  // namespace
}  // namespace shoal::cluster
