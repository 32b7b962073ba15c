#include "shoal/shrink/prune/saved_steps.h"

#include <algorithm>
#include <atomic>
#include <fstream>

#include "shoal/shrink/prune/shrink_testing.h"

namespace shoal::shrink {
namespace {

class Resuming : public Shrinking {
 protected:
  ShrinkOptions resumable(bool resume) const {
    ShrinkOptions shrink_options = options();
    shrink_options.recipe.epochs = 2;
    shrink_options.recipe.augment.shift = 1;
    shrink_options.out = out_;
    shrink_options.steps = folder_;
    shrink_options.resume = resume;
    return shrink_options;
  }
  // Ends after n steps of training.
  Result<ShrinkResult> run_for(size_t steps, ShrinkOptions how) {
    std::atomic<bool> cancel = steps == 0;
    return run(how, {.on_step = [&](const ShrinkStep&) { cancel = --steps == 0 || cancel; },
                     .cancel = &cancel});
  }
  static bool is_cancelled(const Result<ShrinkResult>& result) {
    return result.status().code() == Code::kCancelled;
  }

  const std::filesystem::path folder_ = temporary_->path() / "small.steps";
};

// 20 steps are an epoch, 40 a network. What nothing is left of is decided again; then the choice is
// known; then a network, or two.
TEST_F(Resuming, GivesTheSameFileAfterAnyStep) {
  ShrinkOptions whole = resumable(false);
  whole.controls = true;
  whole.teacher = Teacher::kControl;
  whole.refit = true;
  const auto expected = run(whole);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const std::string bytes = written();
  EXPECT_FALSE(std::filesystem::exists(folder_));
  for (size_t steps : {0u, 1u, 20u, 40u, 55u, 79u, 130u}) {
    std::filesystem::remove(out_);
    ShrinkOptions again = whole;
    EXPECT_TRUE(is_cancelled(run_for(steps, again))) << steps;
    EXPECT_TRUE(written().empty()) << steps;
    again.resume = true;
    size_t left = 0;
    const auto result = run(again, {.on_step = [&](const ShrinkStep&) { ++left; }});
    ASSERT_TRUE(result.ok()) << steps << ": " << result.status().message();
    EXPECT_EQ(left, 160 - steps);
    EXPECT_EQ(written(), bytes) << steps;
    EXPECT_EQ(result->small.top1, expected->small.top1);
    EXPECT_EQ(result->held_out_top1, expected->held_out_top1);
    EXPECT_EQ(result->held_out_top1_control, expected->held_out_top1_control);
    EXPECT_EQ(result->top1_random, expected->top1_random);
  }
}

TEST_F(Resuming, GivesTheSameFileWhereLessIsRemoved) {
  ShrinkOptions bound = resumable(false);
  bound.target = {.units = 0.125};
  bound.max_drop = 5;
  const auto expected = run(bound);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ASSERT_EQ(expected->missed.size(), 1u);
  const std::string bytes = written();
  for (size_t steps : {40u, 80u, 95u}) {  // 120 in all
    EXPECT_TRUE(is_cancelled(run_for(steps, bound))) << steps;
    ShrinkOptions again = bound;
    again.resume = true;
    const auto result = run(again);
    ASSERT_TRUE(result.ok()) << steps << ": " << result.status().message();
    EXPECT_EQ(written(), bytes) << steps;
    EXPECT_EQ(result->missed, expected->missed) << steps;
  }
}

TEST_F(Resuming, GivesTheSameFileAfterMany) {
  ASSERT_TRUE(run(resumable(false)).ok());
  const std::string bytes = written();
  std::filesystem::remove(out_);
  size_t interrupted = 0;
  while (interrupted < 9 && is_cancelled(run_for(17, resumable(true)))) ++interrupted;
  EXPECT_EQ(interrupted, 80u / 17);
  EXPECT_EQ(written(), bytes);
}

TEST_F(Resuming, RefusesARunOfOtherSettings) {
  EXPECT_TRUE(is_cancelled(run_for(3, resumable(false))));
  const auto refusal = [&](const auto& change) {
    ShrinkOptions options = resumable(true);
    change(options);
    const Status status = run(options).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  const auto says = [&](const char* what, const auto& change) {
    EXPECT_NE(refusal(change).find(what), std::string::npos) << refusal(change);
  };
  says("epochs 2", [](ShrinkOptions& shrink_options) { shrink_options.recipe.epochs = 3; });
  says("target", [](ShrinkOptions& how) { how.target.macs = 0.6; });
  says("target", [](ShrinkOptions& how) { how.target.bytes = 0.6; });
  says("target", [](ShrinkOptions& how) { how.time = {{.share = 0.5}}; });
  says("refit", [](ShrinkOptions& how) { how.refit = true; });
  says("device", [](ShrinkOptions& how) { how.device = "pi4"; });
  says("max_drop", [](ShrinkOptions& how) { how.max_drop = 1; });
  says("method", [](ShrinkOptions& how) { how.importance = Importance::kRandom; });
  says("teacher", [](ShrinkOptions& how) { how.teacher = Teacher::kControl; });
  says("seed", [](ShrinkOptions& how) { how.recipe.seed = 2; });
  const Model other = model_of(fit::testing::make_network(1, 2));
  const Status status = shrink({*device_, *device_}, other, data_, resumable(true)).status();
  EXPECT_NE(status.message().find("made with network"), std::string::npos) << status.message();
  ShrinkOptions more = resumable(true);
  more.controls = true;  // they come after what was there
  EXPECT_TRUE(run(more).ok());
}

TEST_F(Resuming, TakesNothingFromARunThatItDoesNotResume) {
  ShrinkOptions other = resumable(false);
  other.recipe.seed = 2;
  EXPECT_TRUE(is_cancelled(run_for(50, other)));
  ASSERT_TRUE(std::filesystem::exists(folder_ / "network-0.safetensors"));
  EXPECT_TRUE(is_cancelled(run_for(0, resumable(false))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "network-0.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "choice.safetensors"));
}

TEST_F(Resuming, KeepsWhatOthersPutIntoTheFolder) {
  std::filesystem::create_directory(folder_);
  std::ofstream(folder_ / "notes.txt") << "mine";
  ASSERT_TRUE(run(resumable(true)).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "choice.safetensors"));
}

TEST_F(Resuming, RefusesADamagedChoice) {
  EXPECT_TRUE(is_cancelled(run_for(0, resumable(false))));
  std::ofstream(folder_ / "choice.safetensors", std::ios::app) << "x";
  EXPECT_EQ(run(resumable(true)).status().code(), Code::kCorrupt);
  ShrinkOptions nowhere = resumable(true);
  nowhere.steps.clear();
  EXPECT_EQ(run(nowhere).status().code(), Code::kInvalidArgument);
}

// Deciding may be measuring, which is not the same each time.
TEST_F(Resuming, DecidesOnce) {
  const Graph network = fit::testing::make_network(1);
  auto steps = Steps::open(resumable(false), network);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  EXPECT_FALSE(steps->choice());
  const Choice choice{.rounds = {{{5}, 0.2}, {{5, 1, 2}, 0.125}}, .before_ms = 0.25};
  ASSERT_TRUE(steps->keep_choice(choice).ok());
  steps = Steps::open(resumable(true), network);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  EXPECT_EQ(steps->choice(), choice);
  const auto result = run(resumable(true));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->removed[0].left, 5u);  // not half
  EXPECT_EQ(result->ms_predicted, 0.125);
  EXPECT_EQ(result->ms_predicted_before, 0.25);
}

}  // namespace
}  // namespace shoal::shrink
