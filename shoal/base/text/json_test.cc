#include "shoal/base/text/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace shoal {
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
  EXPECT_EQ(object.members().size(), 3U);
  EXPECT_EQ(object.members().at("x").dump(), "3");
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

TEST(Json, GivesValuesOfTheTypeAskedFor) {
  const Json json = *Json::parse(
      R"({"a":-1,"b":[1,2.5],"c":{"x":3},"d":true,"e":"t","f":18446744073709551615,"g":null})");
  int64_t a = 0;
  uint64_t f = 0, whole = 0;
  std::vector<double> b;
  std::map<std::string, size_t> c;
  bool d = false;
  std::string e;
  EXPECT_TRUE(json.get("a", a).ok() && a == -1);
  EXPECT_TRUE(json.get("f", f).ok() && f == std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(json.get("b", b).ok() && b == std::vector<double>({1, 2.5}));
  EXPECT_TRUE(json.get("c", c).ok() && c.at("x") == 3);
  EXPECT_TRUE(json.get("d", d).ok() && d);
  EXPECT_TRUE(json.get("e", e).ok() && e == "t");
  for (const Status& status :
       {json.get("a", whole), json.get("f", a), json.get("b", a), json.get("c", b),
        json.get("a", d), json.get("g", e), json.get("none", a), Json(1).get("a", a)}) {
    EXPECT_EQ(status.code(), Code::kCorrupt);
  }
  EXPECT_EQ(json.get("none", a).message(), "none is missing");
  EXPECT_EQ(json.find("none"), nullptr);
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_TRUE(Json::parse(std::string(60, '[') + std::string(60, ']')).ok());
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(Json::parse(deep).status().code(), Code::kCorrupt);
}

TEST(Json, WritesDoublesAsOthersDo) {
  for (const auto& [number, text] :
       {std::pair(0.0, "0.0"), std::pair(-0.0, "-0.0"), std::pair(100.0, "100.0"),
        std::pair(123456789012345.0, "123456789012345.0"), std::pair(1e15, "1e+15"),
        std::pair(1.5e16, "1.5e+16"), std::pair(0.0001, "0.0001"), std::pair(0.00001, "1e-05"),
        std::pair(-12.5, "-12.5"), std::pair(0.1 + 0.2, "0.30000000000000004"),
        std::pair(5e-324, "5e-324"), std::pair(1.25e-7, "1.25e-07")}) {
    EXPECT_EQ(Json(number).dump(), text);
  }
}

TEST(Json, DoublesReadBackAsTheSame) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> mantissa(-1, 1), exponent(-30, 30);
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = Json(mantissa(rng) * std::pow(10, exponent(rng))).dump();
    const auto read = Json::parse(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(read->dump(), text);
    EXPECT_NE(text.find_first_of(".e"), text.npos) << text;
  }
}

TEST(Json, IndentsListsInObjects) {
  const Json json = {{"a", Json::array({1, Json::object()})}, {"b", Json::array()}};
  EXPECT_EQ(json.dump(2), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(Json, IndentsForPeople) { EXPECT_EQ((Json{{"a", 1}}.dump(2)), "{\n  \"a\": 1\n}"); }

}  // namespace
}  // namespace shoal
