#include "shoal/base/text/setting.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal {
namespace {

struct Options {
  int64_t epochs = 10, limit = 0;
  bool flip = false;
  std::string format;
  std::vector<float> mean;

  SettingList settings() {
    return {Setting("epochs", epochs, "How often").in(1, 100), Setting("limit", limit, "How many"),
            Setting("flip", flip, "Mirror"), Setting("format", format, "Which"),
            Setting("mean", mean, "Subtract")};
  }
};

TEST(Setting, ShowsItsDefaultUnlessThatIsNone) {
  Options options;
  std::string shown;
  for (const Setting& setting : options.settings()) {
    if (setting.shows_default()) shown += setting.name + " ";
  }
  EXPECT_EQ(shown, "epochs ");
  EXPECT_TRUE(Setting("limit", options.limit, "").showing_default().shows_default());
  EXPECT_FALSE(Setting("epochs", options.epochs, "").hiding_default().shows_default());
  options.format = "npy";
  options.mean = {1};
  EXPECT_TRUE(options.settings()[3].shows_default());
  EXPECT_TRUE(options.settings()[4].shows_default());
}

TEST(Setting, HasTheBoundsThatWereSaid) {
  double x = 1;
  EXPECT_EQ(Setting("x", x, "").least, -Setting::kMost);
  EXPECT_GT(Setting("x", x, "").positive().least, 0);
  EXPECT_EQ(Setting("x", x, "").not_negative().least, 0);
  EXPECT_EQ(Setting("x", x, "").not_negative().most, Setting::kMost);
  EXPECT_EQ(Setting("x", x, "").in(2, 3).least, 2);
  EXPECT_EQ(Setting("x", x, "").in(2, 3).most, 3);
}

TEST(Setting, HasBoundsThatPeopleCanRead) {
  EXPECT_EQ(bounds_text(0, Setting::kMost), "0 or more");
  EXPECT_EQ(bounds_text(-2, Setting::kMost), "-2 or more");
  EXPECT_EQ(bounds_text(Setting::kPositive, Setting::kMost), "more than 0");
  EXPECT_EQ(bounds_text(-Setting::kMost, 7), "7 or less");
  EXPECT_EQ(bounds_text(0.5, 3600), "from 0.5 to 3600");
}

TEST(Setting, MayHaveOtherNamesOnCommandLines) {
  int x = 0;
  const Setting setting = Setting("limit", x, "").also("frames").also("n");
  EXPECT_EQ(setting.name, "limit");
  EXPECT_EQ(setting.aliases, (std::vector<std::string>{"frames", "n"}));
}

TEST(Setting, IsCheckedByParsers) {
  std::string text;
  const auto parse = [](const std::string& word) -> Result<int> {
    return word == "one" ? Result<int>(1) : invalid("no number");
  };
  const Setting setting = Setting("n", text, "").parsed_by(parse);
  EXPECT_TRUE(setting.check("one").ok());
  EXPECT_EQ(setting.check("two").message(), "no number");
}

TEST(Settings, AreJoinedUnderHeadingsWithWhatTheyNeed) {
  Options options;
  const SettingList all =
      joined({{Setting("limit", options.limit, "")},
              under("Images",
                    needing("limit", {{"flip", options.flip, ""}, {"mean", options.mean, ""}}))});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].heading, "");
  EXPECT_TRUE(all[0].needs.empty());
  for (size_t i : {size_t{1}, size_t{2}}) {
    EXPECT_EQ(all[i].heading, "Images");
    EXPECT_EQ(all[i].needs, std::vector<std::string>{"limit"});
  }
}

TEST(Settings, ThatWereGivenAreTakenOver) {
  Options before, given{.epochs = 3, .limit = 7, .flip = true, .format = "idx", .mean = {2}};
  take_given(before.settings(), given.settings(), [](const std::string& flag) {
    return flag == "--epochs" || flag == "--flip" || flag == "--mean";
  });
  EXPECT_EQ(before.epochs, 3);
  EXPECT_TRUE(before.flip);
  EXPECT_EQ(before.mean, std::vector<float>{2});
  EXPECT_EQ(before.limit, 0);
  EXPECT_EQ(before.format, "");
}

TEST(Settings, AreDescribed) {
  Options options;
  expect_described(options.settings());
}

}  // namespace
}  // namespace shoal
