#include "shoal/train/run/setup/training_options.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/train/run/setup/derived_options.h"

namespace shoal::fit {
namespace {

using Rule = train::OptimizerOptions::Rule;

Code code_of(auto change) {
  TrainingOptions options;
  change(options);
  return check(options).code();
}

TEST(TrainingOptions, AreFineByDefault) { EXPECT_TRUE(check(TrainingOptions()).ok()); }

TEST(TrainingOptions, RefuseWhatHasNoMeaning) {
  const Code refused = Code::kInvalidArgument;
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.epochs = 0; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.batch = 0; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.loaders = 0; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.hold_out = 1; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.hold_out = -0.1; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.hold_out = NAN; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.batch = 1 << 20; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.retarget = -1; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.optimizer.rate = -1; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.optimizer.momentum = 1.5f; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.loss.smoothing = 2; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.loss.temperature = 0; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.augment.crop = 0; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.augment.shift = -1; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.penalties = {"lasso"}; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.resume = true; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.privacy.noise = 1; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.privacy.clip = NAN; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.privacy = {.clip = 1, .delta = 1}; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) {
              o.privacy.clip = 1;
              o.damaged = Damaged::kSkip;
            }),
            refused);
}

TEST(TrainingOptions, NeedATeacherAndItsShareTogether) {
  const Code refused = Code::kInvalidArgument;
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.teacher = "t.onnx"; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) { o.loss.distill = 0.5f; }), refused);
  EXPECT_EQ(code_of([](TrainingOptions& o) {
              o.teacher = "t.onnx";
              o.loss.distill = 0.5f;
            }),
            Code::kOk);
}

TEST(TrainingOptions, HaveTheUsualRateOfTheRule) {
  const auto rate_of = [](Rule rule, float rate) {
    TrainingOptions options;
    options.optimizer.rule = rule;
    options.optimizer.rate = rate;
    return trainer_options(options).optimizer.rate;
  };
  EXPECT_EQ(rate_of(Rule::kSgd, 0), 0.02f);
  EXPECT_EQ(rate_of(Rule::kAdam, 0), 0.001f);
  EXPECT_EQ(rate_of(Rule::kAdamW, 0), 0.001f);
  EXPECT_EQ(rate_of(Rule::kAdam, 0.5f), 0.5f);
}

TEST(TrainingOptions, ReachTheTrainer) {
  const train::TrainerOptions options = trainer_options({.freeze = {"conv*"},
                                                         .seed = 7,
                                                         .bf16 = true,
                                                         .memory_bytes = 9,
                                                         .penalties = {"hoyer:columns:0.5:fc*"}});
  EXPECT_TRUE(options.step.frozen("conv1.weight"));
  EXPECT_FALSE(options.step.frozen("fc1.weight"));
  EXPECT_EQ(options.seed, 7u);
  EXPECT_TRUE(options.bf16);
  EXPECT_EQ(options.memory_bytes, 9);
  ASSERT_EQ(options.regularizers.size(), 1u);
  EXPECT_EQ(options.regularizers[0].strength, 0.5);
}

TEST(TrainingOptions, CountTheScheduleInSteps) {
  const train::Schedule schedule =
      schedule_of({.epochs = 4, .warm_up = 0.5, .drop_every = 2, .drop = 0.25}, 10);
  EXPECT_EQ(schedule.total, 40);
  EXPECT_EQ(schedule.warm_up, 5);
  EXPECT_EQ(schedule.every, 20);
  EXPECT_EQ(schedule.drop, 0.25);
  EXPECT_EQ(schedule_of({.drop_every = 0.001}, 10).every, 1);  // at least one step
}

TEST(TrainingOptions, ShuffleAndAugmentTrainingOnly) {
  const TrainingOptions options{.augment = {.flip = true}, .batch = 8, .seed = 3};
  const BatchOptions training = training_batches(options, 10);
  EXPECT_TRUE(training.shuffle && training.augment.flip);
  EXPECT_EQ(training.seed, 3u);
  EXPECT_EQ(training.classes, 10);
  const BatchOptions held_out = evaluation_batches(options, 10);
  EXPECT_FALSE(held_out.shuffle || held_out.augment.flip);
  EXPECT_EQ(held_out.batch, 8u);
}

}  // namespace
}  // namespace shoal::fit
