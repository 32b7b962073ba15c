#include "apps/flags/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal::cli {
namespace {

TEST(Json, WritesEveryKindOfValue) {
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ(Json(nullptr).dump(), "null");
  EXPECT_EQ(Json(true).dump(), "true");
  EXPECT_EQ(Json(-3).dump(), "-3");
  EXPECT_EQ(Json(std::numeric_limits<uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(0.25).dump(), "0.25");
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json("a").dump(), "\"a\"");
  EXPECT_EQ(Json(std::vector<int64_t>{1, 2}).dump(), "[1,2]");
}

TEST(Json, SortsMembersByName) {
  const Json object = {{"b", 1}, {"a", "x"}, {"c", Json::array({1, "two"})}};
  EXPECT_EQ(object.dump(), R"({"a":"x","b":1,"c":[1,"two"]})");
}

TEST(Json, TakesASingleMemberForAnObject) {
  const Json object = {{"a", "b"}};
  EXPECT_EQ(object.dump(), R"({"a":"b"})");
}

TEST(Json, NestsObjects) {
  const Json object = {{"a", Json{{"b", Json::object()}}}};
  EXPECT_EQ(object.dump(), R"({"a":{"b":{}}})");
}

TEST(Json, GrowsByMembersAndElements) {
  Json object;
  object["x"] = 1;
  object["x"] = 2;
  object["list"].push_back(0.5);
  object.update({{"x", 3}, {"y", false}});
  EXPECT_EQ(object.dump(), R"({"list":[0.5],"x":3,"y":false})");
}

TEST(Json, IsValidWhateverItHolds) {
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json("\"\n").dump(), R"("\"\n")");
  EXPECT_EQ(Json("\xff").dump(), "\"\xEF\xBF\xBD\"");
}

TEST(Json, ReadsWhatItWrites) {
  for (const char* text :
       {"null", "true", "-3", "18446744073709551615", "0.25", "1e+300", R"("a\"\n")", "[]", "{}",
        R"([1,[2,{}],"x"])", R"({"a":{"b":[null,false]},"c":1.5})"}) {
    const auto json = Json::parse(text);
    ASSERT_TRUE(json.ok()) << text;
    EXPECT_EQ(json->dump(), text);
  }
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "1 2", "\"\xff\"", "nan"}) {
    EXPECT_EQ(Json::parse(text).status().code(), Code::kCorrupt) << text;
  }
}

TEST(Json, IndentsForPeople) { EXPECT_EQ((Json{{"a", 1}}.dump(2)), "{\n  \"a\": 1\n}"); }

}  // namespace
}  // namespace shoal::cli
