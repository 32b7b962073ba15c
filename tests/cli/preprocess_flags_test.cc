#include "apps/cli/preprocess_flags.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "shoal/base/files/temporary_folder.h"

namespace shoal::cli {
namespace {

class PreprocessFlagsTest : public testing::Test {
 protected:
  PreprocessFlagsTest() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  ~PreprocessFlagsTest() override { ::unsetenv("XDG_CONFIG_HOME"); }

  static Result<Preprocess> resolve(const std::vector<std::string>& words) {
    Command app("", "test");
    PreprocessFlags flags;
    flags.add_to(app);
    testing::internal::CaptureStderr();
    const bool parsed = !app.parse(words);
    const std::string error = testing::internal::GetCapturedStderr();
    if (!parsed) return invalid(error);
    return flags.resolve();
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(PreprocessFlagsTest, ThatAreNotGivenLeaveImagesAsTheyAre) {
  const Preprocess wanted, given = *resolve({});
  EXPECT_EQ(given.resize, wanted.resize);
  EXPECT_EQ(given.scale, wanted.scale);
  EXPECT_EQ(given.mean, wanted.mean);
  EXPECT_FALSE(given.nhwc);
}

TEST_F(PreprocessFlagsTest, ReachTheSettings) {
  const auto given =
      resolve({"--resize", "256", "--crop", "224", "--stretch", "--mean", "0.5,0.25,1", "--std",
               "2", "--no-scale", "--bgr", "--layout", "nhwc"});
  ASSERT_TRUE(given.ok()) << given.status().message();
  EXPECT_EQ(given->resize, 256);
  EXPECT_EQ(given->crop, 224);
  EXPECT_TRUE(given->stretch);
  EXPECT_EQ(given->mean, (std::vector<float>{0.5f, 0.25f, 1}));
  EXPECT_EQ(given->std, std::vector<float>{2});
  EXPECT_FALSE(given->scale);
  EXPECT_TRUE(given->bgr);
  EXPECT_TRUE(given->nhwc);
}

TEST_F(PreprocessFlagsTest, OverrideAPreset) {
  const Preprocess given = *resolve({"--preset", "imagenet", "--crop", "200", "--layout", "nchw"});
  EXPECT_EQ(given.crop, 200);
  EXPECT_EQ(given.resize, 256);
  EXPECT_EQ(given.mean.size(), 3u);
  EXPECT_FALSE(given.nhwc);
}

TEST_F(PreprocessFlagsTest, AreKeptUnderAName) {
  ASSERT_TRUE(resolve({"--crop", "31", "--bgr", "--save-preset", "mine"}).ok());
  const auto again = resolve({"--preset", "mine", "--resize", "40"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->crop, 31);
  EXPECT_TRUE(again->bgr);
  EXPECT_EQ(again->resize, 40);
  EXPECT_EQ(resolve({"--preset", "other"}).status().code(), Code::kNotFound);
  EXPECT_FALSE(resolve({"--save-preset", "../mine"}).ok());
}

TEST_F(PreprocessFlagsTest, RefuseSizesThatAreNone) {
  for (const char* size : {"0", "-1", "20000", "many"}) {
    EXPECT_FALSE(resolve({"--crop", size}).ok()) << size;
  }
  EXPECT_FALSE(resolve({"--layout", "chwn"}).ok());
}

}  // namespace
}  // namespace shoal::cli
