#include "shoal/report/html/assets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace shoal::page {
namespace {

TEST(Assets, AreFoundByTheirWholeNames) {
  for (const Asset& asset : assets()) {
    EXPECT_EQ(find_asset(asset.name), &asset);
    EXPECT_EQ(asset.tag, tag_of(asset.text));
    EXPECT_FALSE(asset.text.empty()) << asset.name;
  }
  for (const char* name : {"", ".", "style", "/style.css", "../files/style.css", "style.css "}) {
    EXPECT_EQ(find_asset(name), nullptr) << name;
  }
}

TEST(Assets, HaveATagEach) {
  std::set<std::string> tags;
  for (const Asset& asset : assets()) tags.insert(asset.tag);
  EXPECT_EQ(tags.size(), assets().size());
  EXPECT_EQ(tag_of("a"), "\"af63dc4c8601ec8c\"");  // from the authors' table of test vectors
  EXPECT_EQ(tag_of(""), "\"cbf29ce484222325\"");
}

// Every file that another names is there, and nothing comes from elsewhere or stands inline.
TEST(Assets, NeedNoOthers) {
  const std::string_view page = find_asset("index.html")->text;
  size_t named = 0;
  for (size_t at = page.find("\"/page/"); at != page.npos; at = page.find("\"/page/", at + 1)) {
    const std::string_view name = page.substr(at + 7, page.find('"', at + 7) - at - 7);
    EXPECT_NE(find_asset(name), nullptr) << name;
    ++named;
  }
  EXPECT_GE(named, 5u);
  for (const char* word : {"<style", "style=", "<script>", "onclick", "://"}) {
    EXPECT_EQ(page.find(word), page.npos) << word;
  }
  for (const Asset& asset : assets()) {
    if (!asset.name.ends_with(".js")) continue;
    for (size_t at = asset.text.find(" from './"); at != page.npos;
         at = asset.text.find(" from './", at + 1)) {
      const size_t begin = at + 9;
      const std::string_view name = asset.text.substr(begin, asset.text.find('\'', begin) - begin);
      EXPECT_NE(find_asset(name), nullptr) << asset.name << ": " << name;
    }
    EXPECT_EQ(asset.text.find("innerHTML"), page.npos) << asset.name;
    EXPECT_EQ(asset.text.find("eval("), page.npos) << asset.name;
  }
}

// Styles are written into <style> of HTML and of SVG, where they must not end it or break XML.
TEST(Assets, AreStylesThatPagesCanHold) {
  EXPECT_EQ(style().find("</"), std::string::npos);
  EXPECT_EQ(colours().find_first_of("<>&\""), std::string::npos);
  EXPECT_TRUE(style().starts_with(colours()));
}

// The contrast of WCAG 2.2, of colours as "#rrggbb".
double luminance(std::string_view colour) {
  const auto channel = [&](size_t i) {
    const double c = std::stoi(std::string(colour.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2);
}

double contrast(std::string_view a, std::string_view b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

TEST(Assets, HaveTextThatCanBeReadInLightAndDark) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-9);
  const std::string_view all = colours();
  const size_t dark = all.find("prefers-color-scheme: dark");
  ASSERT_NE(dark, all.npos);
  for (const std::string_view scheme : {all.substr(0, dark), all.substr(dark)}) {
    const auto colour = [&](const std::string& name) {
      return scheme.substr(scheme.find("--" + name + ": ") + name.size() + 4, 7);
    };
    for (const char* ground : {"paper", "card", "sunk"}) {
      for (const char* text : {"text", "soft", "accent", "good", "warn", "bad"}) {
        EXPECT_GE(contrast(colour(text), colour(ground)), 4.5) << text << " on " << ground;
      }
    }
    for (const char* name : {"good", "warn", "bad"}) {
      EXPECT_GE(contrast(colour(name), colour(std::string(name) + "-soft")), 4.5) << name;
    }
    EXPECT_GE(contrast(colour("accent"), colour("on-accent")), 4.5);
    for (int i = 1; i <= 8; ++i) {  // parts of pictures need less
      EXPECT_GE(contrast(colour("c" + std::to_string(i)), colour("card")), 3) << i;
    }
  }
}

}  // namespace
}  // namespace shoal::page
