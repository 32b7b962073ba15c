#include "shoal/shrink/prune/decision/decision_methods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/prune/decision/sparse_learning.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

using fit::testing::make_network;

class LearningFirst : public Shrinking {
 protected:
  static ShrinkOptions by(Importance importance) {
    ShrinkOptions how = options();
    how.importance = importance;
    return how;
  }
  Result<Decided> decided(const ShrinkOptions& how, const NetworkForBatch& network) {
    return decide_by_method({.device = *device_,
                             .runs = *device_,
                             .network = network,
                             .data = data_.data,
                             .options = how});
  }
  Result<Decided> decided(const ShrinkOptions& how) { return decided(how, network_); }
  // The network after some epochs, in which weights of these names stay as they are.
  Graph trained(const Graph& graph, std::vector<std::string> freeze) {
    const Model model = model_of(graph);
    fit::TrainingOptions recipe = options().recipe;
    recipe.loss.distill = 0;
    recipe.freeze = std::move(freeze);
    const NetworkForBatch network = as_given(model);
    const auto result = retrain(*device_, network, network, data_.data, recipe, {});
    SHOAL_CHECK(result.ok());
    return result->network(1)->graph;
  }
  // A network that needs four of its eight hidden units, one per row of pixels: nothing reads the
  // others.
  static Graph with_idle_units(const std::vector<size_t>& used) {
    Graph graph = make_network(1);
    for (const Node& node : graph.nodes()) {
      for (ValueId id : node.inputs) {
        if (!graph[id].constant) continue;
        Tensor weight = *graph[id].constant;  // shares the elements
        if (graph[id].name == "fc2.weight") std::ranges::fill(weight.data<float>(), 0.0F);
        for (size_t row = 0; row < 4; ++row) {
          if (graph[id].name == "fc1.weight") {
            const auto pixels = weight.data<float>().subspan(used[row] * 16, 16);
            std::ranges::fill(pixels, 0.0F);
            std::ranges::fill(pixels.subspan(row * 4, 4), 1.0F);
          } else if (graph[id].name == "fc2.weight") {
            weight.data<float>()[row * 8 + used[row]] = 1;
          }
        }
      }
    }
    return graph;
  }

  const NetworkForBatch network_ = as_given(model_);
};

TEST_F(LearningFirst, PenaltyCoversAllThatLivesAndDiesTogether) {
  const Graph graph = make_network(1);
  const auto groups = compress::find_groups(graph);
  const train::UnitPenalty penalty =
      penalty_on(graph, *groups, train::Regularizer::Penalty::kLasso, 1);
  ASSERT_EQ(penalty.groups.size(), 1u);
  ASSERT_EQ(penalty.groups[0].size(), 8u);
  std::vector<std::string> slices;
  for (const auto& slice : penalty.groups[0][5]) {
    slices.push_back(slice.weight + " " + std::to_string(slice.axis) + " " +
                     std::to_string(slice.index));
  }
  std::ranges::sort(slices);
  EXPECT_EQ(slices, (std::vector<std::string>{"fc1.bias 0 5", "fc1.weight 0 5", "fc2.weight 1 5"}));
}

// The norm of the smallest unit falls against that of the largest, other than with next to no
// penalty.
TEST_F(LearningFirst, PenaltiesPartUnits) {
  for (Importance importance : {Importance::kLasso, Importance::kHoyer}) {
    const auto gap = [&](double strength) {
      ShrinkOptions how = by(importance);
      how.sparse_epochs = 5;
      how.strength = strength;
      const auto result = decided(how);
      EXPECT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->decision.choice.rounds.back().units.size(), 4u);
      const Graph graph = with_weights(network_, result->weights)(1)->graph;
      std::vector<double> worth = compress::magnitudes(graph, *compress::find_groups(graph));
      std::ranges::sort(worth);
      return worth[0] / worth[7];
    };
    const double strong = importance == Importance::kLasso ? 1e-2 : 1e-1;
    EXPECT_LT(gap(strong), 0.2 * gap(1e-9)) << name_of(importance);
  }
}

TEST_F(LearningFirst, GivesSmallerNetworksInAsManyEpochs) {
  for (Importance importance : {Importance::kLasso, Importance::kHoyer, Importance::kDpruner}) {
    ShrinkOptions how = by(importance);
    how.out = out_;
    how.controls = true;
    size_t dense = 0, small = 0;
    const auto result = run(how, {.on_step = [&](const ShrinkStep& step) {
                              dense += step.network == "dense control";
                              small += step.network == "smaller network";
                            }});
    ASSERT_TRUE(result.ok()) << name_of(importance) << ": " << result.status().message();
    EXPECT_EQ(result->small.size.macs, 16 * 4 + 4 * 4);
    EXPECT_GT(result->small.top1, 80) << name_of(importance);
    EXPECT_EQ(dense, 6u * 20);
    EXPECT_EQ(small, 4u * 20);  // a third came before
    const std::string bytes = written();
    ASSERT_TRUE(run(how).ok());
    EXPECT_EQ(written(), bytes) << name_of(importance);
  }
}

// It goes on with the weights that were learned before anything went.
TEST_F(LearningFirst, GivesTheSameFileAfterAnInterruption) {
  for (Importance importance : {Importance::kLasso, Importance::kDpruner}) {
    ShrinkOptions how = by(importance);
    how.recipe.epochs = 3;
    how.out = out_;
    how.steps = temporary_->path() / "small.steps";
    ASSERT_TRUE(run(how).ok());
    const std::string bytes = written();
    for (std::string_view network : {"what goes", "dense control", "smaller network"}) {
      if (importance == Importance::kDpruner && network == "what goes") continue;  // no such steps
      std::filesystem::remove(out_);
      std::atomic<bool> cancel = false;
      how.resume = false;
      const auto stop_at = [&](const ShrinkStep& step) {
        cancel = step.network == network || cancel;
      };
      EXPECT_EQ(run(how, {.on_step = stop_at, .cancel = &cancel}).status().code(),
                Code::kCancelled);
      how.resume = true;
      ASSERT_TRUE(run(how).ok());
      EXPECT_EQ(written(), bytes) << name_of(importance) << ", " << network;
    }
  }
}

// DP-5 of docs/references.md. Half of the units do nothing; masks find that out, though nothing but
// the loss tells them.
TEST_F(LearningFirst, MasksFindIdleUnits) {
  const std::vector<size_t> used = {6, 0, 5, 3}, idle = {1, 2, 4, 7};
  const Model model = model_of(with_idle_units(used));
  ShrinkOptions how = by(Importance::kDpruner);
  how.recipe.freeze = {"fc*"};  // they stay idle
  how.target = {.units = 0.5};
  how.recipe.epochs = 21;
  how.sparse_epochs = 20;
  const auto result = decided(how, as_given(model));
  ASSERT_TRUE(result.ok()) << result.status().message();
  std::vector<size_t> units = result->decision.choice.rounds.back().units;
  std::ranges::sort(units);
  EXPECT_EQ(units, idle);
}

// What masks left is what was learned: the whole network, masked units included, is no model for
// it.
TEST_F(LearningFirst, MasksLeaveNothingToRefit) {
  ShrinkOptions how = by(Importance::kDpruner);
  how.recipe.epochs = 3;
  how.out = out_;
  ASSERT_FALSE(how.refit);
  ASSERT_TRUE(run(how).ok());
  const std::string bytes = written();
  how.refit = true;
  ASSERT_TRUE(run(how).ok());
  EXPECT_EQ(written(), bytes);
}

TEST_F(LearningFirst, RefusesWhatHasNoMeaning) {
  const auto code = [](const ShrinkOptions& how) { return check(how).code(); };
  ShrinkOptions how = by(Importance::kLasso);
  EXPECT_EQ(code(how), Code::kOk);
  how.recipe.epochs = 1;
  EXPECT_EQ(code(how), Code::kInvalidArgument);  // none would be left
  how = by(Importance::kDpruner);
  how.strength = 1;
  EXPECT_EQ(code(how), Code::kInvalidArgument);
  how = by(Importance::kTaylor);
  how.sparse_epochs = 1;
  EXPECT_EQ(code(how), Code::kInvalidArgument);
  how = by(Importance::kDepth);
  how.device = "pi4";
  EXPECT_EQ(code(how), Code::kInvalidArgument);
  how = by(Importance::kHoyer);
  how.strength = -1;
  EXPECT_EQ(code(how), Code::kInvalidArgument);
  EXPECT_EQ(decided(by(Importance::kDepth)).status().code(), Code::kUnsupported);  // no blocks
}

// x -> fc1 -> h1 = h + f1(h) -> h2 = h1 + f2(h1) -> fc2, where f1 gives next to nothing.
Graph residual_network() {
  Graph graph;
  const auto weight = [&](const char* name, const Shape& shape, float scale) {
    Tensor tensor = fit::testing::weight(shape, static_cast<uint64_t>(name[1]));
    for (float& x : tensor.data<float>()) x *= scale;
    return graph.add_constant(name, tensor);
  };
  ValueId x = graph.add_input("x", {DType::kF32, {1, 1, 4, 4}});
  x = *graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}});
  x = *graph.add(ops::gemm, {x, weight("w1", {16, 8}, 1)});
  for (const auto& [name, scale] : {std::pair("w2", 1e-4F), std::pair("w3", 1.0F)}) {
    const ValueId branch = *graph.add(ops::gemm, {x, weight(name, {8, 8}, scale)});
    x = *graph.add(ops::add, {x, branch});
  }
  graph.mark_output(*graph.add(ops::gemm, {x, weight("w4", {8, 4}, 1)}));
  return graph;
}

TEST_F(LearningFirst, LeavesOutTheBlockThatIsMissedLeast) {
  const Model model = model_of(trained(residual_network(), {"w2"}));
  ShrinkOptions how = by(Importance::kDepth);
  how.target = {.macs = 0.8};
  how.controls = true;
  how.recipe.epochs = 3;
  const auto result = shrink({*device_, *device_}, model, data_, how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->removed.size(), 1u);
  EXPECT_EQ(result->removed[0].weights, "w2");
  EXPECT_EQ(result->removed[0].left, 0u);
  EXPECT_EQ(result->small.size.macs, 16 * 8 + 8 * 8 + 8 * 4);
  EXPECT_NEAR(result->top1_removed, result->top1_before, 1);
  EXPECT_TRUE(result->top1_random && result->top1_scratch);
  how.target = {.units = 0.5};  // one of two
  const auto half = decided(how, as_given(model));
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->decision.choice.rounds.size(), 1u);
  how.target = {.macs = 0.5};
  const Status status = shrink({*device_, *device_}, model, data_, how).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("56 %"), std::string::npos) << status.message();
}

// The target is one for the given network, whatever the blocks were of it.
TEST_F(LearningFirst, TakesUnitsAfterBlocks) {
  const Model model = model_of(trained(residual_network(), {"w2"}));
  ShrinkOptions how = by(Importance::kTaylor);
  how.blocks = 1;
  how.target = {.macs = 0.5};
  how.controls = true;
  how.recipe.epochs = 3;
  const auto result = shrink({*device_, *device_}, model, data_, how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_GE(result->removed.size(), 2u);
  EXPECT_EQ(result->removed[0].weights, "w2");
  EXPECT_EQ(result->removed[0].left, 0u);
  EXPECT_EQ(result->dense.size.macs, 16 * 8 + 2 * 8 * 8 + 8 * 4);
  EXPECT_LE(result->small.size.macs, result->dense.size.macs / 2);
  EXPECT_GE(result->small.size.macs, result->dense.size.macs / 3);
  EXPECT_TRUE(result->top1_random && result->top1_scratch);
  how.target = {.macs = 0.9};  // which the block alone meets
  const auto mild = shrink({*device_, *device_}, model, data_, how);
  ASSERT_TRUE(mild.ok()) << mild.status().message();
  EXPECT_EQ(mild->small.size.macs, 16 * 8 + 8 * 8 + 8 * 4);
  how.blocks = 3;
  EXPECT_EQ(shrink({*device_, *device_}, model, data_, how).status().code(), Code::kUnsupported);
  how = by(Importance::kDepth);
  how.blocks = 1;
  EXPECT_EQ(check(how).code(), Code::kInvalidArgument);
}

TEST_F(LearningFirst, GoesOnAfterBlocksThatWereChosen) {
  const Model model = model_of(trained(residual_network(), {"w2"}));
  ShrinkOptions how = by(Importance::kTaylor);
  how.blocks = 1;
  how.out = out_;
  ASSERT_TRUE(shrink({*device_, *device_}, model, data_, how).ok());
  const std::string whole = written();
  how.steps = temporary_->path() / "steps";
  std::atomic<bool> cancel = false;
  size_t steps = 0;
  const ShrinkCallbacks interrupt{.on_step = [&](const ShrinkStep&) { cancel = ++steps == 30; },
                                  .cancel = &cancel};
  EXPECT_EQ(shrink({*device_, *device_}, model, data_, how, interrupt).status().code(),
            Code::kCancelled);
  how.resume = true;
  ASSERT_TRUE(shrink({*device_, *device_}, model, data_, how).ok());
  EXPECT_EQ(written(), whole);
}

}  // namespace
}  // namespace shoal::shrink
