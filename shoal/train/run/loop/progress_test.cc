#include <gtest/gtest.h>

#include "shoal/train/run/loop/training_loop.h"

namespace shoal::fit {
namespace {

// Progress after epochs with these results on held-out examples.
TrainingProgress after(const std::vector<double>& held_out_top1) {
  TrainingProgress progress;
  for (double top1 : held_out_top1) {
    progress.add_step(1, 1);
    progress.end_epoch(1, 0, top1);
  }
  return progress;
}

TEST(TrainingProgress, AddsUpAnEpoch) {
  TrainingProgress progress;
  progress.add_step(2, 5);
  progress.add_step(1, 10);
  EXPECT_EQ(progress.step, 2u);
  EXPECT_EQ(progress.mean_loss(), 1.5);
  EXPECT_EQ(progress.top1(10), 75);
  progress.seconds = 3;
  progress.end_epoch(10, 0.5, 60);
  ASSERT_EQ(progress.results.size(), 1u);
  EXPECT_EQ(progress.results[0].loss, 1.5);
  EXPECT_EQ(progress.results[0].top1, 75);
  EXPECT_EQ(progress.results[0].held_out_loss, 0.5);
  EXPECT_EQ(progress.results[0].held_out_top1, 60);
  EXPECT_EQ(progress.results[0].seconds, 3);
}

TEST(TrainingProgress, BeginsTheNextEpochFromNothing) {
  const TrainingProgress progress = after({50});
  EXPECT_EQ(progress.epoch, 1u);
  EXPECT_EQ(progress.step, 0u);
  EXPECT_EQ(progress.loss_sum, 0);
  EXPECT_EQ(progress.correct, 0u);
}

TEST(TrainingProgress, FindsTheFirstOfTheBestEpochs) {
  EXPECT_EQ(after({10, 30, 20, 30}).best_epoch(), 1u);
  EXPECT_TRUE(after({10, 30}).improved());
  EXPECT_FALSE(after({30, 30}).improved());  // no better is no improvement
  EXPECT_FALSE(TrainingProgress().improved());
}

TEST(TrainingProgress, StopsAfterEpochsWithoutABetterResult) {
  EXPECT_FALSE(after({30, 20}).out_of_patience(2));
  EXPECT_FALSE(after({10, 30, 20}).out_of_patience(2));
  EXPECT_TRUE(after({30, 20, 25}).out_of_patience(2));
  EXPECT_TRUE(after({30, 30, 30}).out_of_patience(2));
  EXPECT_FALSE(after({30, 20, 31}).out_of_patience(2));
}

TEST(TrainingProgress, NeverStopsWithoutAPatience) {
  EXPECT_FALSE(after({30, 20, 10, 5, 1}).out_of_patience(0));
  EXPECT_FALSE(TrainingProgress().out_of_patience(1));
}

}  // namespace
}  // namespace shoal::fit
