#include "shoal/shrink/prune/decision/factor_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/prune/shrink_testing.h"

namespace shoal::shrink {
namespace {

// Every multiply-accumulate takes a microsecond.
Result<double> macs_as_time(Executable& executable, std::span<const Tensor>) {
  int64_t sum = 0;
  for (const Node& node : executable.graph().nodes()) sum += macs(executable.graph(), node);
  return static_cast<double>(sum);
}

// A layer in factors takes as long as it did.
Result<double> no_gain(Executable&, std::span<const Tensor>) { return 100.0; }

class Factorising : public Shrinking {
 protected:
  static Graph network() {
    auto graph = parse_text(R"(
input x f32[1,1,4,4]
const w1 f32[16,1,3,3] = random(1)
const w2 f32[16,16,3,3] = random(2)
const w3 f32[256,48] = random(3)
const w4 f32[48,4] = random(4)
a = Conv(x, w1) pads=[1,1,1,1]
b = Relu(a)
c = Conv(b, w2) pads=[1,1,1,1]
d = Relu(c)
e = Flatten(d)
f = Gemm(e, w3)
g = Relu(f)
h = Gemm(g, w4)
output h
)",
                            ops::find);
    SHOAL_CHECK(graph.ok());
    for (const Node& node : graph->nodes()) {
      if (node.inputs.size() < 2) continue;
      Tensor weights = *(*graph)[node.inputs[1]].constant;  // shares the elements
      for (float& x : weights.data<float>()) x *= 0.15F;
    }
    return *std::move(graph);
  }
  ShrinkOptions by(Importance importance, double macs) const {
    ShrinkOptions shrink_options = options();
    shrink_options.importance = importance;
    shrink_options.target = {.macs = macs};
    shrink_options.recipe.epochs = 1;
    shrink_options.out = out_;
    return shrink_options;
  }
  Result<Choice> chosen(const ShrinkOptions& how, const compress::Stopwatch& stopwatch) {
    const NetworkForBatch network = as_given(large_);
    return choose_factors({.device = *device_,
                           .runs = *device_,
                           .network = network,
                           .data = data_.data,
                           .options = how},
                          stopwatch);
  }
  Result<ShrinkResult> run(const ShrinkOptions& how, const ShrinkCallbacks& callbacks = {}) {
    return shrink({*device_, *device_}, large_, data_, how, callbacks);
  }

  const Model large_ = model_of(network());
  // Convolutions and products of the network.
  static constexpr int64_t kMacs = 16 * 16 * 9 + 16 * 16 * 16 * 9 + 256 * 48 + 48 * 4;
};

TEST_F(Factorising, MeetsATargetOfSizeAndLearns) {
  for (const auto& [method, share] :
       {std::pair(Importance::kTucker, 0.6), std::pair(Importance::kSvd, 0.9)}) {
    ShrinkOptions options = by(method, share);
    options.controls = true;
    const auto result = run(options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->dense.size.macs, kMacs);
    EXPECT_LE(static_cast<double>(result->small.size.macs), share * kMacs);
    EXPECT_GT(result->small.top1, 50);
    EXPECT_TRUE(result->top1_scratch);
    EXPECT_FALSE(result->top1_random);  // no unit went
    ASSERT_FALSE(result->removed.empty());
    for (const GroupLeft& group : result->removed) {
      EXPECT_EQ(group.weights, method == Importance::kTucker ? "w2" : "w3");
      EXPECT_LT(group.left, group.before);
    }
    EXPECT_FALSE(result->refused.empty());
    // The file has what the result says, without the norms that it learned with.
    const auto file = open_model(out_.string());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto graph = file->graph_for_batch(3);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_EQ(parameters(graph->graph), result->small.size.parameters);
    EXPECT_EQ(std::ranges::count(graph->graph.nodes(), &ops::batch_normalization, &Node::op), 0);
  }
}

// Each factor is a node with scales and names of its own.
TEST_F(Factorising, CountsTheBytesOfFactorsInEightBits) {
  auto deep = parse_text(R"(
input x f32[1,1,4,4]
const w1 f32[24,1,3,3] = random(1)
const w2 f32[24,24,3,3] = random(2)
const w3 f32[24,24,3,3] = random(3)
const w4 f32[24,24,3,3] = random(4)
const w5 f32[384,4] = random(5)
a = Conv(x, w1) pads=[1,1,1,1]
b = Conv(a, w2) pads=[1,1,1,1]
c = Relu(b)
d = Conv(c, w3) pads=[1,1,1,1]
e = Relu(d)
f = Conv(e, w4) pads=[1,1,1,1]
g = Flatten(f)
h = Gemm(g, w5)
output h
)",
                         ops::find);
  ASSERT_TRUE(deep.ok()) << deep.status().message();
  const Model model = model_of(*std::move(deep));
  ShrinkOptions options = by(Importance::kTucker, 1);
  options.int8 = true;
  for (const double share : {0.25, 0.22}) {
    SCOPED_TRACE(share);
    options.target = {.bytes = share};
    const auto result = shrink({*device_, *device_}, model, data_, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_FALSE(result->removed.empty());
    EXPECT_LE(static_cast<double>(written().size()),
              share * static_cast<double>(result->dense.size.bytes));
  }
}

TEST_F(Factorising, GivesTheSameBytesAndGoesOnAfterAnInterruption) {
  ShrinkOptions options = by(Importance::kTucker, 0.6);
  ASSERT_TRUE(run(options).ok());
  const std::string bytes = written();
  options.steps = temporary_->path() / "steps";
  std::atomic<bool> cancel = false;
  size_t steps = 0;
  const auto torn = run(
      options, {.on_step = [&](const ShrinkStep&) { cancel = ++steps == 30; }, .cancel = &cancel});
  EXPECT_EQ(torn.status().code(), Code::kCancelled);
  options.resume = true;
  ASSERT_TRUE(run(options).ok());
  EXPECT_EQ(written(), bytes);
}

// Rounds on the way to the target lose ever more, so that a milder one is there if it loses much.
TEST_F(Factorising, GoesThereInRounds) {
  const auto choice = chosen(by(Importance::kTucker, 0.6), macs_as_time);
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  ASSERT_EQ(choice->rounds.size(), 8u);
  EXPECT_FALSE(choice->rounds.back().ranks.empty());
  const Removal* less = milder(*choice, 2, 1);
  ASSERT_NE(less, nullptr);
  EXPECT_NE(less->ranks, choice->rounds.back().ranks);
  EXPECT_FALSE(less->ranks.empty());
}

TEST_F(Factorising, MeetsATime) {
  ShrinkOptions options = by(Importance::kTucker, 1);
  options.time = {{.share = 0.6}};
  const auto choice = chosen(options, macs_as_time);
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  ASSERT_TRUE(choice->before_ms && choice->rounds.back().ms);
  EXPECT_LE(*choice->rounds.back().ms, 0.6 * *choice->before_ms + 1e-9);
  options.time = {{.ms = 1e6}};  // it is as fast already
  const auto whole = chosen(options, macs_as_time);
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->rounds.back().ranks.empty());
  options.time = {{.share = 1e-6}};
  EXPECT_EQ(chosen(options, macs_as_time).status().code(), Code::kUnsupported);
}

// Where factors gain no time, no layer gets any, and a target that needs them is refused.
TEST_F(Factorising, MakesNoLayerSlower) {
  ShrinkOptions options = by(Importance::kTucker, 0.6);
  options.measure_seconds = 0.001;
  const Status refused = chosen(options, no_gain).status();
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_NE(refused.message().find("0 of 1 layers"), std::string_view::npos) << refused.message();
  EXPECT_TRUE(chosen(options, macs_as_time).ok());
  options.measure_seconds = 0;  // then nobody looks
  EXPECT_TRUE(chosen(options, no_gain).ok());
}

TEST_F(Factorising, RefusesWhatHasNoMeaning) {
  ShrinkOptions options = by(Importance::kSvd, 0.5);
  EXPECT_TRUE(check(options).ok());
  options.device = "pi4";
  EXPECT_EQ(check(options).code(), Code::kInvalidArgument);
  options = by(Importance::kSvd, 0.5);
  options.target = {.units = 0.5};
  EXPECT_EQ(check(options).code(), Code::kInvalidArgument);
  // The other tiny network has no layer that factors would make smaller.
  options = by(Importance::kTucker, 0.5);
  const auto none = shrink({*device_, *device_}, model_, data_, options);
  EXPECT_EQ(none.status().code(), Code::kUnsupported);
  EXPECT_NE(none.status().message().find("svd"), std::string_view::npos);
  const NetworkForBatch network = as_given(large_);
  EXPECT_EQ(
      in_factors(*device_, network, *data_.data.training, by(Importance::kTucker, 0.5), {{3, 3}})
          .status()
          .code(),
      Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::shrink
