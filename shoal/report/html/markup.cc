#include "shoal/report/html/markup.h"

#include "shoal/base/text/printable.h"

namespace shoal::page {
namespace {

std::string escaped(char c) {
  switch (c) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    case '\n':
    case '\t':
      return {c};
    default:
      return static_cast<unsigned char>(c) < 0x20 ? "\xEF\xBF\xBD" : std::string(1, c);
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (char c : valid_utf8(text)) safe += escaped(c);
  return safe;
}

}  // namespace shoal::page
