// Recipes in TOML.
#include "apps/commands/recipe_file.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shoal::config {
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
  std::vector<std::string> freeze = {};
  int64_t resize = 0;
  std::string kernel = {};
  int loaders = 1;

  static Status not_empty(const std::string& text) {
    return text.empty() ? invalid("nothing") : Status();
  }
  SettingList settings() {
    return {{"flip", flip, ""},
            Setting("threads", threads, "").in(0, 1024),
            {"epochs", epochs, ""},
            {"seed", seed, ""},
            {"rate", rate, ""},
            {"noise", noise, ""},
            Setting("method", method, "").one_of({"taylor", "random"}),
            {"data", data, ""},
            {"mean", mean, ""},
            Setting("freeze", freeze, "").checked(not_empty),
            Setting("resize", resize, "").in(1, 9).or_none(),
            Setting("kernel", kernel, "").checked(not_empty).or_none(),
            Setting("loaders", loaders, "").of_this_machine()};
  }
};

TEST(Recipe, GivesBackWhatWasWritten) {
  Kinds some{true, 3, -7, 1ULL << 62, 0.1F, 1e-300, "random", "a \"b\" \\ \x7f\n\xC3\xB6", {}};
  for (float x = 1e-30F; x < 1e30F; x *= 1.37F) some.mean.push_back(x);
  some.freeze = {"conv*", "a,b"};
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
  EXPECT_EQ(read.freeze, some.freeze);
}

TEST(Recipe, MaySayNoneInSpiteOfBounds) {
  Kinds kinds;
  kinds.resize = 5;
  kinds.kernel = "direct";
  ASSERT_TRUE(parse_recipe("resize = 0\nkernel = \"\"", "r.toml", kinds.settings()).ok());
  EXPECT_EQ(kinds.resize, 0);
  EXPECT_EQ(kinds.kernel, "");
}

TEST(Recipe, LeavesOutWhatIsOfTheMachine) {
  Kinds kinds;
  EXPECT_EQ(to_recipe(kinds.settings())->find("loaders"), std::string::npos);
  EXPECT_FALSE(parse_recipe("loaders = 2", "r.toml", kinds.settings()).ok());
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
        "mean = [1, \"2\"]", "freeze = [\"\"]", "resize = -1", "resize = 10", "[epochs]\nx = 1"}) {
    EXPECT_NE(refusal(text).find("is not what it can be"), std::string::npos) << text;
  }
  kinds.data = "\xff";
  EXPECT_NE(to_recipe(kinds.settings()).status().message().find("data: "), std::string::npos);
  kinds.data.clear();
  kinds.seed = 1ULL << 63;
  EXPECT_FALSE(to_recipe(kinds.settings()).ok());
}

}  // namespace
}  // namespace shoal::config
