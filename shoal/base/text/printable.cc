// Text of any origin, made safe for a terminal and for a log of one line each: escape sequences,
// newlines and invalid UTF-8 are shown in hexadecimal.
#include "shoal/base/text/printable.h"

#include <cstdint>

namespace shoal {
namespace {

struct Sequence {
  size_t length = 0;  // in bytes; 0: it is no valid UTF-8
  uint32_t code = 0;
};

Sequence first_sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return {};
  uint32_t code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = code < (length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {length, code};
}

bool is_control(uint32_t code) {
  const bool of_lines = code == 0x2028 || code == 0x2029;  // separators
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || of_lines;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  for (size_t at = 0; at < text.size();) {
    if (line.size() >= limit) return line + "...";
    const Sequence next = first_sequence(text.substr(at));
    const bool shown = next.length > 0 && !is_control(next.code);
    if (shown) {
      line += text.substr(at, next.length);
    } else {
      const auto byte = static_cast<uint8_t>(text[at]);
      line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    at += shown ? next.length : 1;
  }
  return line;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (size_t at = 0; at < text.size();) {
    const size_t length = first_sequence(text.substr(at)).length;
    valid += length > 0 ? text.substr(at, length) : "\xEF\xBF\xBD";
    at += length > 0 ? length : 1;
  }
  return valid;
}

}  // namespace shoal
