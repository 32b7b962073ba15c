#include "shoal/shrink/exits/learning/exit_words.h"

#include <gtest/gtest.h>

namespace shoal::exits {
namespace {

using Words = std::vector<std::string>;

TEST(ExitWords, PlaceExits) {
  ExitsOptions options{.automatic = 7};
  ASSERT_TRUE(set_places({"auto"}, options).ok());
  EXPECT_EQ(options.automatic, 7U);
  ASSERT_TRUE(set_places({"auto:3"}, options).ok());
  EXPECT_EQ(options.automatic, 3U);
  EXPECT_TRUE(options.at.empty());
  for (const Words& names : {Words{"auto", "b"}, Words{"automatic"}, Words{"a"}}) {
    ASSERT_TRUE(set_places(names, options).ok());
    EXPECT_EQ(options.at, names) << "they are names of values";
  }
  for (const char* text : {"auto:", "auto:0", "auto:x", "auto:2x", "auto:-1"}) {
    EXPECT_EQ(set_places({text}, options).message(),
              std::string("at takes names of values, or auto:2 for two exits, not ") + text);
  }
}

TEST(ExitWords, GiveThresholds) {
  const std::vector<Exit> exits = {{.threshold = 0.7}, {.threshold = 0.8}};
  EXPECT_EQ(*thresholds_in("calibrated", exits), (std::vector<double>{0.7, 0.8}));
  EXPECT_EQ(*thresholds_in("0.9,1.5", exits), (std::vector<double>{0.9, 1.5}));
  for (const char* text : {"x,1", "0.9,-1", "0.9,nan", "0.9,,1", "0.9 ,1"}) {
    EXPECT_EQ(thresholds_in(text, exits).status().message(),
              std::string("exits takes probabilities such as 0.9,0.95, not ") + text);
  }
  for (const char* text : {"", "0.9", "0.9,0.9,0.9"}) {
    EXPECT_EQ(thresholds_in(text, exits).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(thresholds_in("0.9", exits).status().message(),
            "exits has 1 probabilities for 2 exits");
}

}  // namespace
}  // namespace shoal::exits
