#include "shoal/shrink/branches/learn_branches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::branch {
namespace {

// fit's tiny network of 8 hidden units, and its images.
class Learning : public shrink::Shrinking {
 protected:
  LearnOptions options() const {
    LearnOptions options{.branches = {.widths = equal_widths(4)},
                         .recipe = shrink::Shrinking::options().recipe,
                         .out = out_};
    options.recipe.epochs = 10;
    return options;
  }
  Result<LearnResult> learn(const LearnOptions& options, const LearnCallbacks& callbacks = {}) {
    return learn_branches(*device_, model_, data_, options, callbacks);
  }
  // Of the file, on test examples.
  double top1_of_file() {
    const auto model = open_model(out_.string());
    EXPECT_TRUE(model.ok()) << model.status().message();
    return *shrink::top1_of(*device_, shrink::as_given(*model), *data_.test, options().recipe);
  }
};

TEST_F(Learning, GivesBranchesBesideTheirControls) {
  std::vector<std::string> names;
  const auto result = learn(options(), {.on_step = [&](const LearnStep& step) {
                              if (names.empty() || names.back() != step.network) {
                                names.emplace_back(step.network);
                              }
                            }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names, (std::vector<std::string>{"dense control", "branches", "same work"}));
  EXPECT_GT(result->top1_dense, 90);
  EXPECT_GT(result->top1, 80);
  EXPECT_GT(result->top1_same_macs, 0);
  // Every unit reads the whole input, so that narrow branches have as many weights.
  EXPECT_EQ(result->sizes.parameters, result->sizes.parameters_dense);
  EXPECT_EQ(result->macs_same, result->sizes.macs);
  EXPECT_EQ(result->sizes.merge, Merge::kConcat);
  ASSERT_EQ(result->top1_lost.size(), 4u);
  EXPECT_EQ(top1_of_file(), result->top1);
}

// Branches that were left out while the others learned are missed less when they are lost.
TEST_F(Learning, ToDoWithoutABranch) {
  const auto worst = [&](float dropout) {
    LearnOptions all = options();
    all.dropout = dropout;
    all.recipe.loss.distill = 0;
    const auto result = learn(all);
    EXPECT_TRUE(result.ok());
    return *std::ranges::min_element(result->top1_lost);
  };
  EXPECT_GT(worst(0.4F), worst(0));
}

TEST_F(Learning, FattensUntilThePointsAreKept) {
  LearnOptions all = options();
  all.branches = {.widths = equal_widths(4), .merge = Merge::kSum};
  all.max_drop = 100;
  const auto content = learn(all);
  ASSERT_TRUE(content.ok());
  EXPECT_EQ(content->sizes.fatten, 0);
  all.max_drop = 0;
  all.recipe.epochs = 1;  // too few to reach the control
  const auto fat = learn(all);
  ASSERT_TRUE(fat.ok());
  EXPECT_GT(fat->sizes.fatten, 0);
  EXPECT_LT(fat->sizes.parameters, fat->sizes.parameters_dense);
  EXPECT_EQ(top1_of_file(), fat->top1);
}

TEST_F(Learning, EndsWhenItIsTold) {
  std::atomic<bool> cancel = true;
  EXPECT_EQ(learn(options(), {.cancel = &cancel}).status().code(), Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Learning, RefusesOptionsWithoutMeaning) {
  const auto refuses = [&](auto change) {
    LearnOptions all = options();
    change(all);
    return learn(all).status().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refuses([](LearnOptions& all) { all.dropout = 1; }));
  EXPECT_TRUE(refuses([](LearnOptions& all) { all.max_drop = -1; }));
  EXPECT_TRUE(refuses([](LearnOptions& all) { all.branches.widths = {1}; }));
  EXPECT_TRUE(refuses([](LearnOptions& all) { all.recipe.patience = 2; }));
}

}  // namespace
}  // namespace shoal::branch
