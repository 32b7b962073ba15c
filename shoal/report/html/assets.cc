#include "shoal/report/html/assets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "shoal/base/files/embed.h"

// SHOAL_PAGE_FILES is the folder of the files, given by the build.
SHOAL_EMBED(page_index_html, SHOAL_PAGE_FILES "/index.html");
SHOAL_EMBED(page_colours_css, SHOAL_PAGE_FILES "/colours.css");
SHOAL_EMBED(page_style_css, SHOAL_PAGE_FILES "/style.css");
SHOAL_EMBED(page_server_css, SHOAL_PAGE_FILES "/server.css");
SHOAL_EMBED(page_main_js, SHOAL_PAGE_FILES "/main.js");
SHOAL_EMBED(page_live_js, SHOAL_PAGE_FILES "/live.js");
SHOAL_EMBED(page_models_js, SHOAL_PAGE_FILES "/models.js");
SHOAL_EMBED(page_catalog_js, SHOAL_PAGE_FILES "/catalog.js");
SHOAL_EMBED(page_devices_js, SHOAL_PAGE_FILES "/devices.js");
SHOAL_EMBED(page_try_js, SHOAL_PAGE_FILES "/try.js");
SHOAL_EMBED(page_draw_js, SHOAL_PAGE_FILES "/draw.js");
SHOAL_EMBED(page_code_js, SHOAL_PAGE_FILES "/code.js");
SHOAL_EMBED(page_metrics_js, SHOAL_PAGE_FILES "/metrics.js");
SHOAL_EMBED(page_dom_js, SHOAL_PAGE_FILES "/dom.js");
SHOAL_EMBED(page_icon_svg, SHOAL_PAGE_FILES "/icon.svg");

namespace shoal::page {
namespace {

std::string_view text_of(const std::byte* begin, const std::byte* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)};
}

Asset asset(std::string_view name, std::string_view type, std::string_view text) {
  return {name, type, text, tag_of(text)};
}

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";

}  // namespace

// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
std::string tag_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 20> hex{};
  std::snprintf(hex.data(), hex.size(), "\"%016llx\"", static_cast<unsigned long long>(hash));
  return hex.data();
}

std::span<const Asset> assets() {
#define SHOAL_ASSET(name, symbol, type) \
  asset(name, type, text_of(shoal_page_##symbol##_begin, shoal_page_##symbol##_end))
  static const std::array all = {SHOAL_ASSET("index.html", index_html, kHtml),
                                 SHOAL_ASSET("colours.css", colours_css, kCss),
                                 SHOAL_ASSET("style.css", style_css, kCss),
                                 SHOAL_ASSET("server.css", server_css, kCss),
                                 SHOAL_ASSET("main.js", main_js, kScript),
                                 SHOAL_ASSET("live.js", live_js, kScript),
                                 SHOAL_ASSET("models.js", models_js, kScript),
                                 SHOAL_ASSET("catalog.js", catalog_js, kScript),
                                 SHOAL_ASSET("devices.js", devices_js, kScript),
                                 SHOAL_ASSET("try.js", try_js, kScript),
                                 SHOAL_ASSET("draw.js", draw_js, kScript),
                                 SHOAL_ASSET("code.js", code_js, kScript),
                                 SHOAL_ASSET("metrics.js", metrics_js, kScript),
                                 SHOAL_ASSET("dom.js", dom_js, kScript),
                                 SHOAL_ASSET("icon.svg", icon_svg, "image/svg+xml")};
#undef SHOAL_ASSET
  return all;
}

const Asset* find_asset(std::string_view name) {
  const auto all = assets();
  const auto it = std::ranges::find(all, name, &Asset::name);
  return it == all.end() ? nullptr : &*it;
}

std::string style() {
  return std::string(colours()) +
         std::string(text_of(shoal_page_style_css_begin, shoal_page_style_css_end));
}

std::string_view colours() {
  return text_of(shoal_page_colours_css_begin, shoal_page_colours_css_end);
}

}  // namespace shoal::page
