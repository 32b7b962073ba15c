#include "shoal/video/watch/run/look_words.h"

#include <gtest/gtest.h>

namespace shoal::watch {
namespace {

TEST(LookWords, SayNothingByThemselves) {
  const auto options = LookWords().options();
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->head || options->delta || options->key_frames);
  EXPECT_FALSE(options->motion || options->rectangular);
}

TEST(LookWords, BecomeOptions) {
  const auto exact = LookWords{.delta = "0", .rectangular = true}.options();
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(exact->delta, 0.0F);
  EXPECT_TRUE(exact->rectangular);
  const auto keys = LookWords{.key_frames = "5", .motion = "codec"}.options();
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE(keys->key_frames.has_value());
  EXPECT_TRUE(keys->motion);
}

TEST(LookWords, RefuseWhatExcludesEachOther) {
  for (const LookWords& words :
       {LookWords{.delta = "auto", .key_frames = "5"}, LookWords{.motion = "codec"},
        LookWords{.key_frames = "5", .rectangular = true}, LookWords{.delta = "many"},
        LookWords{.key_frames = "x"}}) {
    EXPECT_EQ(words.options().status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::watch
