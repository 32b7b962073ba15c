// Recipes of shoal shrink.
#include <gtest/gtest.h>

#include "apps/cli/train/shrink_flags.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal::cli {
namespace {

class ShrinkRecipe : public testing::Test {
 protected:
  // The flags of a command line after its recipe was read.
  ShrinkFlags& flags(std::vector<std::string> words, Status* status = nullptr) {
    command_ = std::make_unique<Command>("", "shrink");
    flags_ = std::make_unique<ShrinkFlags>();
    flags_->add_to(*command_);
    words.insert(words.end(), {"-o", "small.onnx"});
    EXPECT_FALSE(command_->parse(words));
    const Status taken = flags_->take_recipe();
    if (status == nullptr) {
      EXPECT_TRUE(taken.ok()) << taken.message();
    } else {
      *status = taken;
    }
    return *flags_;
  }
  void write(const std::string& text) { EXPECT_TRUE(write_file(file_, text).ok()); }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  const std::filesystem::path file_ = folder_->path() / "r.toml";
  std::unique_ptr<Command> command_;
  std::unique_ptr<ShrinkFlags> flags_;
};

TEST_F(ShrinkRecipe, SaysAllThatFlagsSaid) {
  const ShrinkFlags& given =
      flags({"m.onnx",   "--data",    "d",         "--format",  "npy",       "--preset",
             "imagenet", "--bgr",     "--layout",  "nhwc",      "--target",  "macs=0.3,bytes=0.5",
             "--method", "magnitude", "--teacher", "control",   "--distill", "0.3",
             "--rate",   "0.013",     "--flip",    "--shift",   "2",         "--seed",
             "9",        "--limit",   "100",       "--warm-up", "0.7",       "--schedule",
             "step",     "--kernel",  "direct",    "--damaged", "skip"});
  const auto first = given.resolve();
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto text = config::to_recipe(given.all(), *first, 3);
  ASSERT_TRUE(text.ok()) << text.status().message();
  write(*text);
  const ShrinkFlags& read = flags({"--recipe", file_.string()});
  EXPECT_EQ(read.train.model.threads, 3);
  EXPECT_EQ(read.train.model.kernel, "direct");
  const auto again = read.resolve();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->recipe.model, "m.onnx");
  EXPECT_EQ(again->recipe.preprocess.mean, first->recipe.preprocess.mean);
  EXPECT_FALSE(again->recipe.preprocess.mean.empty());
  EXPECT_TRUE(again->recipe.preprocess.bgr && again->recipe.preprocess.nhwc);
  EXPECT_EQ(again->recipe.optimizer.rate, 0.013F);
  EXPECT_EQ(again->target.bytes, 0.5);
  EXPECT_EQ(again->teacher, shrink::Teacher::kControl);
  // The recipe of a recipe is itself.
  EXPECT_EQ(*config::to_recipe(read.all(), *again, 3), *text);
}

TEST_F(ShrinkRecipe, NamesTheDeviceThatTheNetworkIsFor) {
  const ShrinkFlags& given =
      flags({"m.onnx", "--data", "d", "--format", "npy", "--target", "ms=20", "--device", "pi4"});
  const auto first = given.resolve();
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->device, "pi4");
  EXPECT_EQ(first->time, (shrink::TimeTarget{.ms = 20}));
  write(*config::to_recipe(given.all(), *first, 1));
  const ShrinkFlags& read = flags({"--recipe", file_.string()});
  EXPECT_EQ(read.resolve()->device, "pi4");
  EXPECT_EQ((*make_device(read.train.model))->info().name, "cpu");  // what learns is here
  const ShrinkFlags& here = flags({"m.onnx", "--data", "d", "--format", "npy", "--device", "here"});
  EXPECT_EQ(here.resolve()->device, "");
  EXPECT_EQ((*make_device(here.train.model))->info().name, "cpu");
}

TEST_F(ShrinkRecipe, GivesWayToFlags) {
  write(
      "model = \"m.onnx\"\ndata = \"d\"\nformat = \"npy\"\nepochs = 3\nmean = [0.5]\n"
      "std = [0.25]\nseed = 4\n");
  const auto options =
      flags({"--recipe", file_.string(), "--epochs", "5", "--mean", "0.1"}).resolve();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->recipe.epochs, 5);
  EXPECT_EQ(options->recipe.seed, 4u);
  EXPECT_EQ(options->recipe.preprocess.mean, std::vector<float>{0.1F});
  EXPECT_EQ(options->recipe.preprocess.std, std::vector<float>{0.25F});
}

TEST_F(ShrinkRecipe, MustNameModelAndData) {
  write("model = \"m.onnx\"\ndata = \"d\"\n");
  Status status;
  flags({"--recipe", file_.string()}, &status);
  EXPECT_NE(status.message().find("--format is required"), std::string::npos) << status.message();
  flags({"--data", "d", "--format", "npy"}, &status);
  EXPECT_NE(status.message().find("a model is required"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace shoal::cli
