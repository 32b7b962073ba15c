#include "shoal/engine/inputs/presets.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal {
namespace {

const Preprocess kMine{.resize = 256,
                       .crop = 224,
                       .stretch = true,
                       .channels = 3,
                       .mean = {0.485f, -1.5f, 1e-9f},
                       .std = {0.229f},
                       .scale = false,
                       .bgr = true,
                       .nhwc = true};

void expect_equal(const Preprocess& got, const Preprocess& want) {
  EXPECT_EQ(got.resize, want.resize);
  EXPECT_EQ(got.crop, want.crop);
  EXPECT_EQ(got.stretch, want.stretch);
  EXPECT_EQ(got.channels, want.channels);
  EXPECT_EQ(got.mean, want.mean);
  EXPECT_EQ(got.std, want.std);
  EXPECT_EQ(got.scale, want.scale);
  EXPECT_EQ(got.bgr, want.bgr);
  EXPECT_EQ(got.nhwc, want.nhwc);
}

class Presets : public testing::Test {
 protected:
  const TemporaryFolder parent_ = *TemporaryFolder::make();
  const std::filesystem::path folder_ = parent_.path() / "presets";  // not there at first
};

TEST_F(Presets, AreReadAsTheyWereWritten) {
  for (const Preprocess& how : {kMine, Preprocess(), *find_preset("imagenet")}) {
    ASSERT_TRUE(save_preset(folder_, "mine", how).ok());
    const auto read = load_preset(folder_, "mine");
    ASSERT_TRUE(read.ok()) << read.status().message();
    expect_equal(*read, how);
  }
}

TEST_F(Presets, OfTheLibraryComeFirst) {
  ASSERT_TRUE(save_preset(folder_, "imagenet", kMine).ok());
  expect_equal(*load_preset(folder_, "imagenet"), *find_preset("imagenet"));
}

TEST_F(Presets, StayInTheirFolder) {
  for (const char* name : {"", "../mine", "a/b", "a.b", "a b", "a\nb"}) {
    EXPECT_EQ(save_preset(folder_, name, {}).code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(load_preset(folder_, name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_FALSE(save_preset(folder_, std::string(65, 'a'), {}).ok());
  EXPECT_EQ(load_preset(folder_, "other").status().code(), Code::kNotFound);
}

TEST_F(Presets, ThatAreDamagedNameTheirFile) {
  ASSERT_TRUE(save_preset(folder_, "mine", {}).ok());
  ASSERT_TRUE(write_file(folder_ / "mine.json", "{\"crop\": ").ok());
  const Status status = load_preset(folder_, "mine").status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("mine.json"), std::string::npos) << status.message();
}

TEST(ParsePreset, LeavesDefaultsWhereNothingIsSaid) {
  expect_equal(*parse_preset("{}"), {});
  expect_equal(*parse_preset(R"({"crop": 32, "mean": [ 0.5 ]})"), {.crop = 32, .mean = {0.5f}});
}

TEST(ParsePreset, RefusesWhatIsNoPreset) {
  for (const char* text :
       {"", "[]", "{", "{}x", R"({"crop": "32"})", R"({"crop": 1.5})", R"({"crop": 1e99})",
        R"({"mean": 0.5})", R"({"mean": [true]})", R"({"mean": [1e999]})", R"({"scale": 1})",
        R"({"scale": tru})", R"({"zoom": 1})", R"({"crop": 1, "crop": 2})"}) {
    EXPECT_EQ(parse_preset(text).status().code(), Code::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace shoal
