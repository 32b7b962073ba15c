#include "apps/commands/video/faces.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::faces {
namespace {

TEST(FaceFacts, SayWhoIsWhere) {
  FoundFace face;
  face.detection = {.label = 0, .score = 0.5F, .box = {1, 2, 4, 8}};
  FaceAnswer answer;
  answer.distance = 0.25;
  EXPECT_EQ(text_of("a.jpg", face, answer), "a.jpg: unknown, distance 0.250, at 1,2, 3 x 6\n");
  std::string json = to_json("a.jpg", face, answer).dump();
  EXPECT_NE(json.find(R"("person":null)"), json.npos) << json;
  answer.person = "Ada\n";
  EXPECT_EQ(text_of("a.jpg", face, answer), "a.jpg: Ada\\x0a, distance 0.250, at 1,2, 3 x 6\n");
  json = to_json("a.jpg", face, answer).dump();
  EXPECT_NE(json.find(R"("person":"Ada\n")"), json.npos) << json;
  EXPECT_NE(json.find(R"("h":6.0,"image":"a.jpg")"), json.npos) << json;
}

TEST(FaceFacts, OfNobodyAreZero) {
  EXPECT_EQ(to_json(Identification()).dump(),
            R"({"cascade":{"answers":[],"checked":0,"lessons":0,"macs_share":1.0,)"
            R"("thresholds":[],"wrong":0},"faces":0,"identified":0.0,"identified_alone":0.0,)"
            R"("people":0})");
  EXPECT_TRUE(people_rows(FaceDatabase(1)).empty());
  const std::string json = to_json(FaceDatabase(1)).dump();
  EXPECT_TRUE(json.starts_with(R"({"people":[],"threshold":)")) << json;
}

TEST(FaceFacts, OfIdentificationArePercent) {
  Identification half;
  half.faces = 4;
  half.right = 2;
  half.right_alone = 3;
  const std::string json = to_json(half).dump();
  EXPECT_NE(json.find(R"("identified":50.0,"identified_alone":75.0)"), json.npos) << json;
}

TEST(FaceSettings, AreDescribed) {
  FaceSettings settings;
  const SettingList all = joined({network_settings(settings), database_settings(settings),
                                  exit_settings(settings), picture_settings(settings)});
  expect_described(all);
}

TEST(FaceSettings, AreOptionsOfTheCascade) {
  const CascadeOptions options = FaceSettings{.agreement = 0.75, .lessons = 3}.cascade();
  EXPECT_EQ(options.lessons, 3U);
  EXPECT_EQ(options.wanted.precision, 0.75);
}

}  // namespace
}  // namespace shoal::faces
