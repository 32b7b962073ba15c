#include "shoal/train/run/loop/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

class Checkpoints : public ::testing::Test {
 protected:
  static Checkpoint example() {
    Checkpoint checkpoint{.progress = {.epoch = 1,
                                       .step = 3,
                                       .loss_sum = 0.1 + 0.2,  // no short decimal number
                                       .correct = 17,
                                       .seconds = 4.5,
                                       .results = {{1.25, 50, 1.5, 40, 3}}},
                          .settings = settings_of({.model = "zoo:mlp"}),
                          .state = {{"w", Tensor::of<float>({2}, {1, 2})}},
                          .best = {{"w", Tensor::of<float>({2}, {3, 4})}}};
    return checkpoint;
  }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path folder_ = temporary_->path();
  const std::filesystem::path path_ = folder_ / "c.safetensors";
};

TEST_F(Checkpoints, GiveBackWhatWasWritten) {
  const Checkpoint wanted = example();
  ASSERT_TRUE(write_checkpoint(path_, wanted).ok());
  const auto read = read_checkpoint(path_, wanted.settings);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->progress.epoch, 1u);
  EXPECT_EQ(read->progress.step, 3u);
  EXPECT_EQ(read->progress.loss_sum, 0.1 + 0.2);
  EXPECT_EQ(read->progress.correct, 17u);
  EXPECT_EQ(read->progress.seconds, 4.5);
  ASSERT_EQ(read->progress.results.size(), 1u);
  EXPECT_EQ(read->progress.results[0].loss, 1.25);
  EXPECT_EQ(read->progress.results[0].top1, 50);
  EXPECT_EQ(read->progress.results[0].held_out_loss, 1.5);
  EXPECT_EQ(read->progress.results[0].held_out_top1, 40);
  EXPECT_EQ(read->progress.results[0].seconds, 3);
  EXPECT_EQ(read->settings, wanted.settings);
  EXPECT_TRUE(testing::same(read->state, wanted.state));
  EXPECT_TRUE(testing::same(read->best, wanted.best));
}

// Files outlive programs: what was written before must be readable.
TEST_F(Checkpoints, KeepTheirFormat) {
  const TensorFile old{
      .tensors = {{"state.w", Tensor::of<float>({1}, {1})},
                  {"best.w", Tensor::of<float>({1}, {2})}},
      .metadata = {{"course",
                    R"({"epoch":1,"loss_sum":0.5,"results":[[1.0,2.0,3.0,4.0,5.0]],"right":7,)"
                    R"("seconds":6.5,"step":2})"},
                   {"settings", R"({"batch":64,"seed":1})"}},
      .checked = false};
  ASSERT_TRUE(write_safetensors(path_, old).ok());
  const auto read = read_checkpoint(path_, R"({"seed":1, "batch":64})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->progress.correct, 7u);
  EXPECT_EQ(read->progress.results[0].held_out_top1, 4);
  EXPECT_EQ(read->state.at("w").data<float>()[0], 1);
  EXPECT_EQ(read->best.at("w").data<float>()[0], 2);
}

TEST_F(Checkpoints, NameTheSettingThatDiffers) {
  ASSERT_TRUE(write_checkpoint(path_, example()).ok());
  const auto read = read_checkpoint(path_, settings_of({.model = "zoo:mlp", .bf16 = true}));
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  EXPECT_NE(read.status().message().find("made with bf16 false, not true"), std::string_view::npos)
      << read.status().message();
}

TEST_F(Checkpoints, AreRefusedIfDamaged) {
  const Checkpoint wanted = example();
  ASSERT_TRUE(write_checkpoint(path_, wanted).ok());
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x7f');
  file.close();
  EXPECT_EQ(read_checkpoint(path_, wanted.settings).status().code(), Code::kCorrupt);
}

TEST_F(Checkpoints, AreNotAnyTensors) {
  ASSERT_TRUE(write_safetensors(path_, {.tensors = {{"w", Tensor::of<float>({1}, {1})}},
                                        .metadata = {},
                                        .checked = false})
                  .ok());
  EXPECT_EQ(read_checkpoint(path_, "{}").status().code(), Code::kCorrupt);
}

TEST(Settings, AreThoseThatDecideWhatIsLearned) {
  const TrainingOptions plain{.model = "zoo:mlp"};
  const auto changed = [&](auto change) {
    TrainingOptions options = plain;
    change(options);
    return settings_of(options) != settings_of(plain);
  };
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.seed = 2; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.batch = 2; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.freeze = {"fc1.*"}; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.preprocess.mean = {0.5f}; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.preprocess.bgr = true; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.augment.flip = true; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.optimizer.rate = 0.5f; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.optimizer.beta1 = 0.5f; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.optimizer.beta2 = 0.5f; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.optimizer.epsilon = 0.5f; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.loss.smoothing = 0.5f; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.penalties = {"lasso:rows:1"}; }));
  EXPECT_TRUE(changed([](TrainingOptions& o) { o.schedule = train::Schedule::Kind::kStep; }));
  EXPECT_FALSE(changed([](TrainingOptions& o) { o.epochs = 99; }));
  EXPECT_FALSE(changed([](TrainingOptions& o) { o.loaders = 3; }));
  // Batches before the first damaged example are the same: training that failed there may go on.
  EXPECT_FALSE(changed([](TrainingOptions& o) { o.damaged = Damaged::kSkip; }));
  EXPECT_FALSE(changed([](TrainingOptions& o) { o.memory_bytes = 1000; }));
  EXPECT_FALSE(changed([](TrainingOptions& o) { o.optimizer.rate = 0.02f; }));  // the usual one
}

TEST(Settings, TellNamesApartThatAreNoUtf8) {
  const auto with = [](const std::string& name) {
    return settings_of({.model = name, .freeze = {name}, .teacher = name});
  };
  EXPECT_NE(with("m\xff"), with("m\xfe"));
  EXPECT_NE(with("m\xff"), with("m\\xff"));
  EXPECT_EQ(with("m\xff"), with("m\xff"));
}

TEST(Settings, HaveTheMemoryLimitWhereItDecides) {
  const TrainingOptions training_options{.model = "m", .bf16 = true, .memory_bytes = 1};
  const TrainingOptions two{.model = "m", .bf16 = true, .memory_bytes = 2};
  EXPECT_NE(settings_of(training_options), settings_of(two));
}

}  // namespace
}  // namespace shoal::fit
