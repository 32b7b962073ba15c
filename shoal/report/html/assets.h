// The files of pages, inside the binary: the style that all pages share, and what the server's page
// is made of. Valid for the whole program; any thread may read them.
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

// By its whole name; null if there is none.
const Asset* find_asset(std::string_view name);

// In quotes, as ETag has it; other texts have others.
std::string tag_of(std::string_view text);

// Of all pages, to be written into them: colours, light and dark, and components.
std::string style();
// The colours alone, which pictures outside of a page need.
std::string_view colours();

}  // namespace shoal::page
