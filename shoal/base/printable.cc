// Text of any origin, made safe for a terminal and for a log of one line each: escape sequences,
// newlines and invalid UTF-8 are shown in hexadecimal.
#include "shoal/base/printable.h"

#include <cstdint>

namespace shoal {
namespace {

// The length of the valid, printable UTF-8 sequence that `text` begins with; 0 if there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = code < (length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool control = code < 0xa0 || code == 0x2028 || code == 0x2029;  // line separators too
  return overlong || surrogate || control || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  for (size_t at = 0; at < text.size();) {
    if (line.size() >= limit) return line + "...";
    const size_t length = sequence_length(text.substr(at));
    if (length > 0) {
      line += text.substr(at, length);
    } else {
      const auto byte = static_cast<uint8_t>(text[at]);
      line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    at += length > 0 ? length : 1;
  }
  return line;
}

}  // namespace shoal
