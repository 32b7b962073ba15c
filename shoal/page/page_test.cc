#include "shoal/page/page.h"

#include <gtest/gtest.h>

namespace shoal::page {
namespace {

constexpr std::string_view kHostile = "\"></title></pre><script>alert('&')</script>\xff\x01";

bool is_safe(const std::string& text) {
  return text.find("<script") == text.npos && text.find_first_of("\xff\x01") == text.npos &&
         text.find("&lt;script&gt;") != text.npos;
}

TEST(Page, EscapesWhatComesFromOthers) {
  const std::string hostile(kHostile);
  EXPECT_TRUE(is_safe(html_page(hostile, "")));
  EXPECT_TRUE(is_safe(card(hostile, "")));
  EXPECT_TRUE(is_safe(figures({{hostile, hostile, hostile}})));
  EXPECT_TRUE(is_safe(preformatted(hostile)));
  EXPECT_TRUE(is_safe(table(hostile, "")));
  EXPECT_TRUE(is_safe(header_row({hostile}) + row({hostile})));
  EXPECT_TRUE(is_safe(heat_cell(hostile, 0.5, Heat::kBad)));
  EXPECT_TRUE(is_safe(picture(hostile, 1, 1, "")));
  EXPECT_TRUE(is_safe(svg_text(0, 0, hostile) + svg_bar(0, 0, 1, 1, "f1", hostile)));
  EXPECT_TRUE(is_safe(plot(hostile, hostile, std::vector<Curve>{{hostile, {1, 2}}})));
  EXPECT_TRUE(is_safe(front_picture({{.cost = 1, .top1 = 1, .name = hostile}}, hostile)));
}

TEST(Page, LetsNothingIn) {
  const std::string page = html_page("title", "<p>body</p>");
  EXPECT_NE(page.find("content=\"default-src 'none'; style-src 'unsafe-inline'\""), page.npos);
  for (const char* word : {"src=", "href=", "<script", "url(", "://", "@import"}) {
    EXPECT_EQ(page.find(word), page.npos) << word;
  }
  EXPECT_NE(page.find("<title>title</title>"), page.npos);
  EXPECT_NE(page.find("<p>body</p>"), page.npos);
}

TEST(Page, HasTheSharedStyle) {
  EXPECT_NE(html_page("", "").find(".card {"), std::string::npos);
  EXPECT_NE(picture_file(1, 1, "").find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(HeatCell, StaysBetweenNothingAndAll) {
  EXPECT_NE(heat_cell("1", -3, Heat::kBad).find("--share:0.00\">1<"), std::string::npos);
  EXPECT_NE(heat_cell("1", 0.25, Heat::kGood).find("good\" style=\"--share:0.25"),
            std::string::npos);
  EXPECT_NE(heat_cell("1", 7, Heat::kBad).find("--share:1.00"), std::string::npos);
}

TEST(Plot, HasOneCurveEachThatFillsIt) {
  const std::vector<Curve> curves = {{"up", {1, 2, 3}}, {"flat", {2, 2, 2}}};
  const std::string text = plot("a", "epochs", curves);
  EXPECT_NE(
      text.find("class=\"s1\" stroke-width=\"2\" points=\"50.0,252.0 280.0,132.0 510.0,12.0 "),
      text.npos);
  EXPECT_NE(
      text.find("class=\"s2\" stroke-width=\"2\" points=\"50.0,132.0 280.0,132.0 510.0,132.0 "),
      text.npos);
  EXPECT_NE(text.find("a, epochs 1 to 3"), text.npos);
  const std::vector<Curve> one = {{"alone", {5}}};
  EXPECT_EQ(plot("b", "epochs", one).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace shoal::page
