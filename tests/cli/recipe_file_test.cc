// Recipes in TOML, and those of shoal shrink.
#include "apps/cli/train/recipe_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/cli/train/shrink_flags.h"
#include "shoal/base/atomic_file.h"
#include "shoal/base/temporary_folder.h"

namespace shoal::cli {
namespace {

// One setting of each kind.
struct Kinds {
  bool flip = false;
  int threads = 0;
  int64_t epochs = 0;
  uint64_t seed = 0;
  float rate = 0;
  double noise = 0;
  std::string method = "taylor";
  std::filesystem::path data;
  std::vector<float> mean;

  std::vector<Setting> settings() {
    return {{"flip", &flip},
            {"threads", &threads, {}, 0, 1024},
            {"epochs", &epochs},
            {"seed", &seed},
            {"rate", &rate},
            {"noise", &noise},
            {"method", &method, {"taylor", "random"}},
            {"data", &data},
            {"mean", &mean}};
  }
};

TEST(Recipe, GivesBackWhatWasWritten) {
  Kinds some{true, 3, -7, 1ULL << 62, 0.1F, 1e-300, "random", "a \"b\" \\ \x7f\n\xC3\xB6", {}};
  for (float x = 1e-30F; x < 1e30F; x *= 1.37F) some.mean.push_back(x);
  const auto text = to_recipe(some.settings());
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("rate = 0.1\n"), std::string::npos) << *text;
  Kinds read;
  const Status status = parse_recipe(*text, "r.toml", read.settings());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(read.flip);
  EXPECT_EQ(read.threads, 3);
  EXPECT_EQ(read.epochs, -7);
  EXPECT_EQ(read.seed, 1ULL << 62);
  EXPECT_EQ(read.rate, 0.1F);
  EXPECT_EQ(read.noise, 1e-300);
  EXPECT_EQ(read.method, "random");
  EXPECT_EQ(read.data, some.data);
  EXPECT_EQ(read.mean, some.mean);
}

TEST(Recipe, RefusesWhatItCannotBe) {
  Kinds kinds;
  const auto refusal = [&](const std::string& text) {
    const Status status = parse_recipe(text, "r.toml", kinds.settings());
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    return std::string(status.message());
  };
  EXPECT_NE(refusal("epoch = 3").find("r.toml: unknown key epoch"), std::string::npos);
  EXPECT_NE(refusal("epochs = 3\nepochs").find("r.toml:2"), std::string::npos);
  for (const char* text :
       {"flip = 1", "threads = -1", "threads = 1025", "epochs = 1.5", "epochs = \"3\"", "seed = -1",
        "rate = nan", "rate = 1e300", "noise = inf", "method = \"guess\"", "data = 3", "mean = 0.5",
        "mean = [1, \"2\"]", "[epochs]\nx = 1"}) {
    EXPECT_NE(refusal(text).find("is not what it can be"), std::string::npos) << text;
  }
  kinds.data = "\xff";
  EXPECT_NE(to_recipe(kinds.settings()).status().message().find("data: "), std::string::npos);
  kinds.data.clear();
  kinds.seed = 1ULL << 63;
  EXPECT_FALSE(to_recipe(kinds.settings()).ok());
}

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
  const auto text = recipe_of(given, *first, 3);
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
  EXPECT_EQ(*recipe_of(read, *again, 3), *text);
}

TEST_F(ShrinkRecipe, NamesTheDeviceThatTheNetworkIsFor) {
  const ShrinkFlags& given =
      flags({"m.onnx", "--data", "d", "--format", "npy", "--target", "ms=20", "--device", "pi4"});
  const auto first = given.resolve();
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->device, "pi4");
  EXPECT_EQ(first->time, (shrink::TimeTarget{.ms = 20}));
  write(*recipe_of(given, *first, 1));
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
