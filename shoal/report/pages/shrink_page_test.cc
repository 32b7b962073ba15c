// The page about a smaller network.
#include "shoal/report/pages/shrink_page.h"

#include <gtest/gtest.h>

namespace shoal::report {
namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

shrink::ShrinkResult some() {
  shrink::ShrinkResult result;
  result.small = {.top1 = 80, .size = {.macs = 50, .parameters = 1234}, .ms = 1};
  result.dense = {.top1 = 81, .size = {.macs = 100, .parameters = 5000}, .ms = 2};
  result.removed = {{"conv1", 0, 16, 4}, {"conv2", 1, 8, 8}};
  result.refused = {{"fc", 0, 10, "the output needs it"}};
  return result;
}

TEST(ShrinkPage, ShowsNumbersWidthsAndFront) {
  shrink::ShrinkResult result = some();
  const std::string page = shrink_page("net", result, "{\"top1\": 80}", "seed = 1\n");
  EXPECT_NE(page.find("multiply-accumulates</dt><dd>2.00 <small>x fewer"), std::string::npos);
  EXPECT_NE(page.find("2.00 <small>x faster"), std::string::npos);
  EXPECT_NE(page.find("80.00 %"), std::string::npos);
  EXPECT_NE(page.find("1,234"), std::string::npos);
  EXPECT_EQ(count(page, "<rect"), 4u);  // before and after, of two groups
  EXPECT_NE(page.find("4 of 16"), std::string::npos);
  EXPECT_NE(page.find("width=\"120.00\""), std::string::npos);  // a quarter of the widest
  EXPECT_EQ(count(page, "<circle r="), 2u);
  EXPECT_NE(page.find("the output needs it"), std::string::npos);
  EXPECT_NE(page.find("{&quot;top1&quot;: 80}"), std::string::npos);
  EXPECT_NE(page.find("seed = 1"), std::string::npos);
  EXPECT_EQ(page.find("is better"), std::string::npos);
  result.top1_scratch = 82;
  result.top1_random = 70;
  const std::string lost = shrink_page("net", result, "", "");
  EXPECT_NE(lost.find("The control 'scratch' is better"), std::string::npos);
  EXPECT_NE(lost.find("random removal"), std::string::npos);
  EXPECT_EQ(count(lost, "<circle r="), 4u);
}

TEST(ShrinkPage, ShowsWhatLostTooMuch) {
  shrink::ShrinkResult result = some();
  result.missed = {{.top1 = 61.25, .size = {.macs = 25, .parameters = 600}, .ms = 0.5}};
  const std::string page = shrink_page("net", result, "", "");
  EXPECT_NE(page.find("lost too much"), std::string::npos);
  EXPECT_EQ(count(page, "61.25 %"), 3u);  // among the networks, in the picture, on the front
  EXPECT_EQ(count(page, "<circle r="), 3u);
}

TEST(ShrinkPage, ShowsWhatGroupsAreToTheAccuracy) {
  shrink::ShrinkResult result = some();
  EXPECT_EQ(shrink_page("net", result, "", "").find("Sensitivity"), std::string::npos);
  result.sensitivity = {.top1 = 80,
                        .examples = 123,
                        .groups = {{"<conv1>", 0, 16, {80, 40, 0}}, {"conv2", 1, 8, {90}}}};
  const std::string page = shrink_page("net", result, "", "");
  EXPECT_NE(page.find("on 123 held-out examples; 80.00 % with all"), std::string::npos);
  EXPECT_NE(page.find("&lt;conv1&gt;, axis 0"), std::string::npos);
  EXPECT_NE(page.find("--share:0.00\">80.0"), std::string::npos);
  EXPECT_NE(page.find("--share:0.50\">40.0"), std::string::npos) << page;
  EXPECT_NE(page.find("--share:1.00\">0.0"), std::string::npos);
  EXPECT_NE(page.find("--share:0.00\">90.0"), std::string::npos);  // never less than nothing
}

TEST(ShrinkPage, NeedsNoOtherFile) {
  const std::string page = shrink_page("net", some(), "", "");
  for (const char* word : {"://", "src=", "href=", "<script", "url("}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
}

TEST(ShrinkPage, EscapesWhatComesFromOthers) {
  const std::string hostile = "\"></title></pre><script>alert('&')</script>\xff";
  shrink::ShrinkResult result = some();
  result.removed[0].weights = result.refused[0].weights = result.refused[0].reason = hostile;
  const std::string page = shrink_page(hostile, result, hostile, hostile);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_EQ(count(page, "</pre>"), 2u);
  EXPECT_EQ(count(page, "&quot;&gt;&lt;/title&gt;"), 8u);
}

TEST(ShrinkPage, HasAPlaceForNothing) {
  const std::string page = shrink_page("", {}, "", "");
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace shoal::report
