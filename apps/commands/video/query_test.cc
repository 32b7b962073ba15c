#include "apps/commands/video/query.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::query {
namespace {

TEST(QueryFacts, OfAnAnswerListItsFrames) {
  AskResult found;
  found.frames = {3, 5};
  found.calls = 2;
  const std::string json = to_json(found, 7, 0.5).dump();
  EXPECT_NE(json.find(R"("calls":2,"class":7)"), json.npos) << json;
  EXPECT_NE(json.find(R"("frames":[3,5])"), json.npos) << json;
  EXPECT_NE(json.find(R"("seconds":0.5)"), json.npos) << json;
}

TEST(QueryFacts, OfAnIndexCountWhatIsInIt) {
  VideoIndex made;
  made.index.frames = 12;
  made.index.clusters.resize(2);
  made.entries = 5;
  const std::string json = to_json(made).dump();
  EXPECT_NE(json.find(R"("clusters":2,"entries":5)"), json.npos) << json;
  EXPECT_NE(json.find(R"("frames":12)"), json.npos) << json;
}

TEST(VideoIndexOptions, AreDescribed) {
  VideoIndexOptions options;
  expect_described(settings_of(options));
}

}  // namespace
}  // namespace shoal::query
