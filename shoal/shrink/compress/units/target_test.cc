#include "shoal/shrink/compress/units/target.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace shoal::compress {
namespace {

TEST(Target, IsReadFromText) {
  const auto target = parse_target("macs=0.5,parameters=2e4");
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->macs, 0.5);
  EXPECT_EQ(target->parameters, 2e4);
  EXPECT_EQ(target->bytes, 1);
  EXPECT_EQ(target->units, 1);
  EXPECT_EQ(parse_target("units=0.25")->units, 0.25);
  EXPECT_EQ(parse_target("bytes=0.25")->bytes, 0.25);
}

TEST(Target, RefusesOtherTexts) {
  for (const char* text : {"", "macs", "macs=", "macs=half", "macs=0.5x", "watts=2", "macs=0",
                           "macs=-1", "macs=nan", "units=2", "macs=0.5,", "=0.5"}) {
    const auto target = parse_target(text);
    EXPECT_EQ(target.status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_FALSE(check(Target{.bytes = std::numeric_limits<double>::quiet_NaN()}).ok());
}

TEST(Target, CanBeMetInSteps) {
  const Size before{.macs = 1000, .parameters = 100, .bytes = 400};
  const Target half = part_way({.units = 0.25, .macs = 250, .bytes = 500}, before, 0.5);
  EXPECT_DOUBLE_EQ(half.units, 0.5);
  EXPECT_DOUBLE_EQ(half.macs, 0.5);
  EXPECT_EQ(half.parameters, 1);
  EXPECT_EQ(half.bytes, 1);  // there are fewer already
}

TEST(Target, IsMetByEveryCost) {
  const Size before{.macs = 1000, .parameters = 100, .bytes = 400};
  EXPECT_TRUE(meets(before, before, {}));
  EXPECT_TRUE(meets({500, 100, 400}, before, {.macs = 0.5}));
  EXPECT_FALSE(meets({501, 10, 40}, before, {.macs = 0.5}));
  EXPECT_TRUE(meets({1000, 20, 400}, before, {.parameters = 20}));
  EXPECT_FALSE(meets({1, 21, 400}, before, {.parameters = 20}));
  EXPECT_FALSE(meets({1, 1, 201}, before, {.bytes = 0.5}));
}

}  // namespace
}  // namespace shoal::compress
