#include "shoal/base/text/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal {
namespace {

TEST(JsonText, ReadsNumbersAndWords) {
  JsonText json(" true false -7 [1, -2.5e3 ,0.125] [] [3,4]");
  EXPECT_TRUE(*json.boolean());
  EXPECT_FALSE(*json.boolean());
  EXPECT_EQ(*json.integer(), -7);
  std::vector<double> numbers;
  ASSERT_TRUE(json.numbers(numbers).ok());
  ASSERT_TRUE(json.numbers(numbers).ok());
  EXPECT_EQ(numbers, (std::vector<double>{1, -2500, 0.125}));
  std::vector<int64_t> integers;
  ASSERT_TRUE(json.integers(integers).ok());
  EXPECT_EQ(integers, (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(json.end().ok());
}

TEST(JsonText, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "x", "-", "inf", "-inf", "-INF", "nan", "-nan", ".5", "+1", "1e999",
                           "01", "-00", "1.", "1.e5"}) {
    std::vector<double> numbers;
    EXPECT_FALSE(JsonText("[" + std::string(text) + ",1]").numbers(numbers).ok()) << text;
  }
  EXPECT_FALSE(JsonText("9223372036854775808").integer().ok());
  EXPECT_FALSE(JsonText("yes").boolean().ok());
}

TEST(JsonText, TakesNoListThatIsTooLong) {
  std::string list = "[0";
  for (int i = 1; i < 64; ++i) list += ",0";
  std::vector<int64_t> integers;
  EXPECT_TRUE(JsonText(list + "]").integers(integers).ok());
  integers.clear();
  EXPECT_FALSE(JsonText(list + ",0]").integers(integers).ok());
}

TEST(JsonText, SkipsAnyValue) {
  JsonText json(R"( {"a": [1, {"b": null}, "x]"], "c": -1.5e3} true "" [] 7)");
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(json.skip().ok());
  EXPECT_EQ(*json.integer(), 7);
  for (const char* text :
       {"", "nul", "{", "[1", "[1,]", "{\"a\"}", "\"", "tru", "\"a\nb\"", "[1.]", "[01]"}) {
    EXPECT_FALSE(JsonText(text).skip().ok()) << text;
  }
}

TEST(JsonText, NestsNoDeeperThanAsked) {
  const std::string open(64, '['), close(64, ']');
  EXPECT_TRUE(JsonText(open + close).skip().ok());
  EXPECT_FALSE(JsonText("[" + open + close + "]").skip().ok());
  EXPECT_FALSE(JsonText(std::string(1'000'000, '[')).skip().ok());
  EXPECT_FALSE(JsonText("[[1]]").nested_list([] { return Status(); }, 1).ok());
}

TEST(JsonText, ReadsListsInListsRowByRow) {
  JsonText json("[[1,2],[[3]],[],4]");
  std::vector<int8_t> all;
  EXPECT_TRUE(json.nested_list([&] { return json.number(all.emplace_back()); }).ok());
  EXPECT_EQ(all, (std::vector<int8_t>{1, 2, 3, 4}));
  uint8_t byte = 0;
  EXPECT_FALSE(JsonText("256").number(byte).ok());
  EXPECT_FALSE(JsonText("-1").number(byte).ok());
}

TEST(JsonText, JoinsSurrogatePairs) {
  EXPECT_EQ(*JsonText(R"("\ud83d\ude00\u00e9")").text(), "\xf0\x9f\x98\x80\xc3\xa9");
  for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83d\u0041")", R"("\u12")"}) {
    EXPECT_FALSE(JsonText(text).text().ok()) << text;
  }
}

TEST(JsonText, SaysWhereItEnded) {
  EXPECT_EQ(JsonText("{} x", "preset").integer().status().message(),
            "preset: an integer expected at byte 0");
}

TEST(JsonText, WritesTextsAndNumbers) {
  EXPECT_EQ(json_text("a\"\\\n"), R"("a\"\\\n")");
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
}

}  // namespace
}  // namespace shoal
