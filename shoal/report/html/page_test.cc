#include "shoal/report/html/page.h"

#include <gtest/gtest.h>

#include <limits>

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
  EXPECT_TRUE(is_safe(
      time_plot(hostile, std::vector<TimeCurve>{{hostile, {1, 2}, {1, 2}}}, Scale::kFitting)));
  EXPECT_TRUE(is_safe(share_plot(hostile, std::vector<TimeCurve>{{hostile, {1, 2}, {1, 1}}})));
  EXPECT_TRUE(is_safe(presence_plot(hostile, std::vector<Presence>{{hostile, {{0, 1}}}}, 2)));
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

TEST(ScaleStep, IsRoundAndGivesFiveToTwelveLines) {
  for (double length = 1e-6; length < 1e6; length *= 1.07) {
    const double lines = length / scale_step(length);
    EXPECT_GE(lines, 4.999) << length;
    EXPECT_LE(lines, 12.501) << length;
  }
  EXPECT_DOUBLE_EQ(scale_step(43.8), 5);
  EXPECT_DOUBLE_EQ(scale_step(110), 20);
  EXPECT_DOUBLE_EQ(scale_step(0.06), 0.01);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// From 54 to 394 across, from 202 up to 12.
TEST(TimePlot, PutsPointsWhereTheirTimesAre) {
  const std::vector<TimeCurve> curves = {{"a", {5, 10}, {2.5, 10}}, {"b", {0, 10}, {5, 5}}};
  const std::string text = time_plot("t", curves, Scale::kFromZero);
  EXPECT_TRUE(has(text,
                  "class=\"s1\" stroke-width=\"2\" stroke-linejoin=\"round\" "
                  "points=\"224.0,154.5 394.0,12.0 \""))
      << text;
  EXPECT_TRUE(has(text, "points=\"54.0,107.0 394.0,107.0 \"")) << text;
  EXPECT_TRUE(has(text, ">time, s<"));
}

TEST(TimePlot, SaysMinutesAndHours) {
  const auto at = [](double seconds) {
    return time_plot("t", std::vector<TimeCurve>{{"a", {0, seconds}, {0, 1}}}, Scale::kFitting);
  };
  EXPECT_TRUE(has(at(0.5), ">time, ms<"));
  EXPECT_TRUE(has(at(600), ">time, min<"));
  EXPECT_TRUE(has(at(90000), ">time, h<"));
}

// Losses come from others and may be anything.
TEST(TimePlot, LeavesOutWhatIsNoNumber) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TimeCurve> curves = {{"a", {1, 2, 3, 4}, {2, none, 1e300, 4}},
                                         {"b", {1}, {none}}};
  const std::string text = time_plot("t", curves, Scale::kFitting);
  EXPECT_TRUE(has(text, "points=\"139.0,202.0 394.0,12.0 \"")) << text;
  EXPECT_TRUE(has(text, "points=\"\""));
  EXPECT_FALSE(has(text, "nan") || has(text, "inf"));
}

// The second part lies on the first, and each share is that of the time before its moment.
TEST(SharePlot, PutsPartsAboveEachOther) {
  const std::vector<TimeCurve> curves = {{"a", {5, 10}, {0.5, 0.25}}, {"b", {5, 10}, {0.5, 0.75}}};
  const std::string text = share_plot("t", curves);
  EXPECT_TRUE(has(text,
                  "class=\"f1\" points=\"54.0,107.0 224.0,107.0 224.0,154.5 394.0,154.5 "
                  "394.0,202.0 224.0,202.0 224.0,202.0 54.0,202.0 \""))
      << text;
  EXPECT_TRUE(has(text,
                  "class=\"f2\" points=\"54.0,12.0 224.0,12.0 224.0,12.0 394.0,12.0 "
                  "394.0,154.5 224.0,154.5 224.0,107.0 54.0,107.0 \""))
      << text;
}

TEST(PresencePlot, HasABarForEachSpan) {
  const std::vector<Presence> all = {{"a", {{0, 10}}}, {"b", {{0, 2.5}, {5, 10}}}};
  const std::string text = presence_plot("t", all, 10);
  EXPECT_TRUE(has(text, "class=\"f1\" rx=\"2\" x=\"120.00\" y=\"17.00\" width=\"340.00\""));
  EXPECT_TRUE(has(text, "class=\"f2\" rx=\"2\" x=\"120.00\" y=\"43.00\" width=\"85.00\""));
  EXPECT_TRUE(has(text, "x=\"290.00\" y=\"43.00\" width=\"170.00\"")) << text;
}

}  // namespace
}  // namespace shoal::page
