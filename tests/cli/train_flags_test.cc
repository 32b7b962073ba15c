// The flags of shoal train as options of the library.
#include "apps/cli/train/train_flags.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

namespace shoal::cli {
namespace {

class Flags {
 public:
  explicit Flags(const std::string& words,
                 const std::string& source = "--data d --format npy --out o.onnx ") {
    flags_.add_to(app_);
    std::istringstream line("zoo:mlp " + source + words);
    testing::internal::CaptureStderr();
    app_.parse({std::istream_iterator<std::string>(line), {}});
    error_ = testing::internal::GetCapturedStderr();
  }
  const std::string& error() const { return error_; }
  std::string refusal() const {
    EXPECT_EQ(error_, "");
    const Status usable = flags_.check();
    return usable.ok() ? "" : std::string(usable.message());
  }
  fit::TrainingOptions options() const {
    EXPECT_EQ(error_, "");
    auto options = flags_.resolve();
    EXPECT_TRUE(options.ok());
    return *std::move(options);
  }

 private:
  Command app_{"", "train"};
  TrainFlags flags_;
  std::string error_;
};

TEST(TrainFlags, ThatAreNotGivenAreTheLibrarysDefaults) {
  const fit::TrainingOptions wanted, given = Flags("").options();
  EXPECT_EQ(given.model, "zoo:mlp");
  EXPECT_EQ(given.epochs, wanted.epochs);
  EXPECT_EQ(given.batch, wanted.batch);
  EXPECT_EQ(given.feature_cache_bytes, wanted.feature_cache_bytes);
  EXPECT_EQ(given.schedule, wanted.schedule);
  EXPECT_EQ(given.optimizer.rule, wanted.optimizer.rule);
  EXPECT_EQ(given.optimizer.rate, wanted.optimizer.rate);
  EXPECT_EQ(given.optimizer.momentum, wanted.optimizer.momentum);
  EXPECT_EQ(given.loss.temperature, wanted.loss.temperature);
  EXPECT_EQ(given.damaged, wanted.damaged);
  EXPECT_EQ(given.memory_bytes, 0);
}

TEST(TrainFlags, ReachTheOptions) {
  const fit::TrainingOptions given =
      Flags(
          "--optimizer adamw --rate 0.5 --schedule step --damaged skip --feature-cache 3 "
          "--memory 2MB --freeze a* --freeze b* --penalty lasso:rows:1 --teacher t.onnx "
          "--distill 0.5 --shift 2 --mean 0.5 --resume")
          .options();
  EXPECT_EQ(given.optimizer.rule, train::OptimizerOptions::Rule::kAdamW);
  EXPECT_EQ(given.optimizer.rate, 0.5f);
  EXPECT_EQ(given.schedule, train::Schedule::Kind::kStep);
  EXPECT_EQ(given.damaged, Damaged::kSkip);
  EXPECT_EQ(given.feature_cache_bytes, 3'000'000u);
  EXPECT_EQ(given.memory_bytes, 2'000'000);
  EXPECT_EQ(given.freeze, (std::vector<std::string>{"a*", "b*"}));
  EXPECT_EQ(given.penalties, std::vector<std::string>{"lasso:rows:1"});
  EXPECT_EQ(given.teacher, "t.onnx");
  EXPECT_EQ(given.augment.shift, 2);
  EXPECT_EQ(given.preprocess.mean, std::vector<float>{0.5f});
  EXPECT_TRUE(given.resume);
  EXPECT_TRUE(fit::check(given).ok());
}

TEST(TrainFlags, PutTheCheckpointBesideTheOutput) {
  EXPECT_EQ(Flags("").options().checkpoint, "o.safetensors");
  EXPECT_EQ(Flags("--checkpoint c").options().checkpoint, "c");
}

TEST(TrainFlags, OverrideWhatAPresetSays) {
  const Preprocess how = Flags("--preset imagenet --crop 200").options().preprocess;
  EXPECT_EQ(how.crop, 200);
  EXPECT_EQ(how.resize, 256);
  EXPECT_EQ(how.mean.size(), 3u);
}

TEST(TrainFlags, RefuseWhatHasNoMeaning) {
  EXPECT_NE(Flags("--penalty lasso").error(), "");
  EXPECT_NE(Flags("--teacher t.onnx").error(), "");
  EXPECT_NE(Flags("--distill 0.5").error(), "");
  EXPECT_NE(Flags("--memory 2XB").error(), "");
  EXPECT_NE(Flags("--optimizer rmsprop").error(), "");
}

TEST(TrainFlags, AskForWhatIsMissing) {
  EXPECT_EQ(Flags("").refusal(), "");
  EXPECT_EQ(Flags("", "--format npy --out o.onnx").refusal(), "--data is required");
  EXPECT_EQ(Flags("", "--data d --out o.onnx").refusal(), "--format is required");
  EXPECT_EQ(Flags("", "--data d --format npy").refusal(), "--out is required");
  EXPECT_EQ(Flags("--cluster", "--data d --format npy ").refusal(), "");
  EXPECT_EQ(Flags("--federated", "").refusal(), "--data is required");
  EXPECT_EQ(Flags("--federated --cluster", "").refusal(), "") << "workers have the data";
}

TEST(TrainFlags, OfSeveralDevicesAreForThem) {
  for (const char* together : {"--cluster ", "--federated "}) {
    EXPECT_EQ(Flags(together + std::string("--codec f16 --local-steps 3")).refusal(), "");
    EXPECT_EQ(Flags(together + std::string("--dp-noise 1 --dp-clip 1")).refusal(),
              "--dp-noise needs one device alone");
  }
  EXPECT_EQ(Flags("--dp-noise 1 --dp-clip 1").refusal(), "");
  EXPECT_EQ(Flags("--codec f16").refusal(), "--codec needs --cluster or --federated");
  EXPECT_EQ(Flags("--local-steps 3").refusal(), "--local-steps needs --cluster or --federated");
}

}  // namespace
}  // namespace shoal::cli
