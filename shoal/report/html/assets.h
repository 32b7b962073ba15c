// The files of pages, inside the binary: the common style, and the server's page. Valid for the
// whole program; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shoal::page {

struct Asset {
  std::string_view name;  // "style.css"
  std::string_view type;  // for Content-Type
  std::string_view text;
  std::string tag;  // tag_of() the text
};

std::span<const Asset> assets();

// By its full name; null if there is none.
const Asset* find_asset(std::string_view name);

// A quoted ETag; different texts have different ones.
std::string tag_of(std::string_view text);

// The style of all pages, to be embedded: colours, light and dark, and components.
std::string style();
// The colours alone, for pictures outside of a page.
std::string_view colours();

}  // namespace shoal::page
