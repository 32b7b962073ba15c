#include "shoal/base/text/glob.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

TEST(Glob, MatchesWholeNames) {
  const std::vector<std::string> patterns = {"conv*", "fc[12].*"};
  EXPECT_TRUE(matches_any(patterns, "conv1.weight"));
  EXPECT_TRUE(matches_any(patterns, "fc2.bias"));
  EXPECT_FALSE(matches_any(patterns, "fc3.bias"));
  EXPECT_FALSE(matches_any(patterns, "my_conv"));
  EXPECT_FALSE(matches_any({}, "conv1"));
}

}  // namespace
}  // namespace shoal
