// Recipes of shrink() in words, devices in words, and the files of catalogs that hold such recipes.
#include "apps/commands/catalog/task_file.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal::config {
namespace {

const std::string kSource = "model = \"m.onnx\"\ndata = \"d\"\nformat = \"npy\"\n";

TEST(DeviceSettings, NameDevicesThatPlansKnow) {
  DeviceSettings settings;
  settings.device = "pi4";
  EXPECT_EQ(settings.profile(), "");
  EXPECT_FALSE(make_device(settings).ok()) << "there is none here";
  settings.profiles = true;
  EXPECT_EQ(settings.profile(), "pi4");
  EXPECT_EQ((*make_device(settings))->info().name, "cpu") << "its results are computed here";
  settings.device = kHere;
  EXPECT_EQ(settings.profile(), "");
  EXPECT_EQ((*make_device(settings))->info().name, "cpu");
  settings.device = "reference";
  EXPECT_EQ((*make_device(settings))->info().name, "reference");
}

TEST(DeviceSettings, LimitMemoryBySizes) {
  DeviceSettings settings;
  EXPECT_EQ(settings.memory_limit(), 0);
  settings.memory = "200MB";
  EXPECT_EQ(settings.memory_limit(), 200'000'000);
}

TEST(TrainingSettings, AreOptions) {
  TrainingSettings settings{.options = {},
                            .feature_cache_mb = 3,
                            .optimizer = "adamw",
                            .schedule = "step",
                            .damaged = "skip"};
  settings.options.out = "a.onnx";
  DeviceSettings device;
  device.memory = "2MB";
  const fit::TrainingOptions options = resolve(settings, "zoo:mlp", device);
  EXPECT_EQ(options.model, "zoo:mlp");
  EXPECT_EQ(options.memory_bytes, 2'000'000);
  EXPECT_EQ(options.feature_cache_bytes, 3'000'000U);
  EXPECT_EQ(options.optimizer.rule, train::OptimizerOptions::Rule::kAdamW);
  EXPECT_EQ(options.schedule, train::Schedule::Kind::kStep);
  EXPECT_EQ(options.damaged, Damaged::kSkip);
  EXPECT_EQ(options.checkpoint, "a.safetensors");
  settings.options.checkpoint = "c";
  EXPECT_EQ(resolve(settings, "", {}).checkpoint, "c");
}

TEST(ShrinkRecipe, HasMethodsWithAndWithoutEightBits) {
  for (const std::string& method : shrink_methods()) {
    ShrinkRecipe recipe = usual_shrink_recipe();
    recipe.shrink.method = method;
    const auto options = resolve(recipe);
    ASSERT_TRUE(options.ok()) << method;
    EXPECT_EQ(options->int8, method.ends_with(",int8"));
    EXPECT_EQ(options->importance, *shrink::find_importance(method.substr(0, method.find(','))));
  }
}

TEST(ShrinkRecipe, SaysWhatIsLearned) {
  ShrinkRecipe recipe = usual_shrink_recipe();
  recipe.training.options.out = "small.onnx";
  recipe.shrink.distill = 0.25F;
  auto options = resolve(recipe);
  EXPECT_EQ(options->recipe.loss.distill, 0.25F);
  EXPECT_EQ(options->steps, "small.steps");
  EXPECT_TRUE(options->recipe.checkpoint.empty()) << "steps are kept in its place";
  recipe.shrink.teacher = "none";
  EXPECT_EQ(resolve(recipe)->recipe.loss.distill, 0);
  recipe.shrink.target = "macs=x";
  EXPECT_FALSE(resolve(recipe).ok());
}

TEST(ShrinkRecipe, LearnsWhereItIsTold) {
  ShrinkRecipe recipe = usual_shrink_recipe();
  recipe.device.device = "pi4";
  EXPECT_EQ(recipe.training_device().device, "pi4");
  EXPECT_EQ(recipe.training_device().tune, "off") << "the same network each time";
  EXPECT_EQ(recipe.measured_device().tune, "fast");
  recipe.shrink.train_device = "reference";
  EXPECT_EQ(recipe.training_device().device, "reference");
  EXPECT_EQ(recipe.measured_device().device, "pi4");
}

TEST(ShrinkRecipe, IsAFixedPointOfItsText) {
  ShrinkRecipe recipe = usual_shrink_recipe();
  ASSERT_TRUE(parse_shrink_recipe(kSource + "layout = \"nhwc\"\nmean = [0.5]\nepochs = 3\n"
                                            "method = \"lasso,int8\"\nshift = 2\n",
                                  "r", recipe)
                  .ok());
  EXPECT_TRUE(recipe.preprocess.nhwc);
  const auto text = to_recipe(recipe, *resolve(recipe), 3);
  ASSERT_TRUE(text.ok()) << text.status().message();
  ShrinkRecipe again = usual_shrink_recipe();
  ASSERT_TRUE(parse_shrink_recipe(*text, "r", again).ok());
  EXPECT_EQ(again.device.threads, 3);
  EXPECT_EQ(again.shrink.method, "lasso,int8");
  EXPECT_TRUE(again.preprocess.nhwc);
  EXPECT_EQ(*to_recipe(again, *resolve(again), 3), *text);
}

TEST(ShrinkRecipe, GivesWayToWhatWasGiven) {
  const auto folder = TemporaryFolder::make();
  const auto path = folder->path() / "r.toml";
  ASSERT_TRUE(write_file(path, kSource + "epochs = 3\nseed = 4\nchannels = 1\n").ok());
  ShrinkRecipe recipe = usual_shrink_recipe();
  recipe.training.options.epochs = 5;
  recipe.model = "mine.onnx";
  ASSERT_TRUE(read_shrink_recipe(path, recipe, [](const std::string& flag) {
                return flag == "--epochs" || flag == "model" || flag == "--channels";
              }).ok());
  EXPECT_EQ(recipe.training.options.epochs, 5);
  EXPECT_EQ(recipe.model, "mine.onnx");
  EXPECT_EQ(recipe.training.options.seed, 4U);
  EXPECT_EQ(recipe.preprocess.channels, 1) << "there is no such flag";
}

TEST(ShrinkRecipe, NeedsASource) {
  ShrinkRecipe recipe = usual_shrink_recipe();
  EXPECT_EQ(parse_shrink_recipe("model = \"m\"\ndata = \"d\"\n", "r", recipe).message(),
            "--format is required, here or in the recipe");
  EXPECT_FALSE(parse_shrink_recipe(kSource + "epoch = 3\n", "r", recipe).ok());
}

TEST(TaskFile, HasSettingsForAllAndForEach) {
  const auto task = parse_task(kSource + R"(
epochs = 4
target = "macs=0.2"
[widths]
count = 3
epochs = 6
[[variant]]
name = "small"
target = "macs=0.1"
[[variant]]
name = "v0-int8"
method = "int8"
of = "small"
[[variant]]
name = "few"
method = "specialise"
classes = [0, 3]
other = 0.2
per-class = 500
max-drop = 1
at = "head"
epochs = 2
)",
                               "lenet.toml");
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ(task->recipe.model, "m.onnx");
  EXPECT_EQ(task->recipe.training.options.epochs, 4);
  EXPECT_EQ(task->options.widths, 3U);
  EXPECT_EQ(task->options.shrink.recipe.epochs, 6);
  EXPECT_EQ(task->options.shrink.target.macs, 0.2);
  ASSERT_EQ(task->options.variants.size(), 3U);
  const catalog::VariantRecipe &small = task->options.variants[0],
                               &int8 = task->options.variants[1], &few = task->options.variants[2];
  EXPECT_EQ(small.by, catalog::Making::kShrink);
  EXPECT_EQ(small.shrink.target.macs, 0.1);
  EXPECT_EQ(small.shrink.recipe.epochs, 4) << "not those of widths";
  EXPECT_EQ(int8.by, catalog::Making::kInt8);
  EXPECT_EQ(int8.of, "small");
  EXPECT_EQ(few.by, catalog::Making::kSpecialise);
  EXPECT_EQ(few.special.classes, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(few.special.other, 0.2);
  EXPECT_EQ(few.special.per_class, 500);
  EXPECT_EQ(few.special.max_drop, 1);
  EXPECT_EQ(few.special.at, "head");
  EXPECT_EQ(few.special.recipe.epochs, 2);
}

TEST(TaskFile, MayHaveNoVariants) {
  const auto task = parse_task(kSource, "t");
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ(task->options.widths, 0U);
  EXPECT_TRUE(task->options.variants.empty());
}

// Whatever is wrong, the file is named.
TEST(TaskFile, ThatMakesNoSenseIsRefused) {
  for (const char* text :
       {"", "widths = 3\n", "[widths]\n", "[widths]\ncount = 1\n", "[widths]\ncount = 10\n",
        "[widths]\ncount = 2\nepoch = 3\n", "variant = 1\n", "variant = [1]\n", "[[variant]]\n",
        "[[variant]]\nname = \"../a\"\n", "[[variant]]\nname = \"a\"\nmethod = \"magic\"\n",
        "[[variant]]\nname = \"a\"\nclasses = [1]\n",
        "[[variant]]\nname = \"a\"\nmethod = \"specialise\"\n",
        "[[variant]]\nname = \"a\"\nmethod = \"specialise\"\nclasses = 1\n",
        "[[variant]]\nname = \"a\"\nmethod = \"specialise\"\nclasses = [0.5]\n",
        "[[variant]]\nname = \"a\"\nmethod = \"specialise\"\nclasses = [1]\nother = \"x\"\n"}) {
    const bool is_empty = *text == 0;
    const auto task = parse_task(is_empty ? "" : kSource + text, "lenet.toml");
    EXPECT_EQ(task.status().code(), Code::kInvalidArgument) << text;
    if (!is_empty) {
      EXPECT_NE(task.status().message().find("lenet.toml"), std::string::npos)
          << text << task.status().message();
    }
  }
}

}  // namespace
}  // namespace shoal::config
