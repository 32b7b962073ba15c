// A pull parser. Texts are hostile: keys are unique, lists of numbers are short, nesting is as deep
// as the caller asks and no deeper, and every error names its byte.
#include "shoal/base/text/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "shoal/base/limits.h"

namespace shoal {
namespace {

constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

void append_utf8(std::string& text, char32_t c) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xc0 | c >> 6);
    add(0x80 | (c & 0x3f));
  } else {
    if (c < 0x10000) {
      add(0xe0 | c >> 12);
    } else {
      add(0xf0 | c >> 18);
      add(0x80 | (c >> 12 & 0x3f));
    }
    add(0x80 | (c >> 6 & 0x3f));
    add(0x80 | (c & 0x3f));
  }
}

}  // namespace

// to_chars writes the shortest text that reads back as the same number.
std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

std::string json_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  // Bytes from 0x80 on pass unchanged: texts are UTF-8.
  std::string result = "\"";
  for (char c : text) {
    const size_t at = c == '/' ? kEscaped.npos : kEscaped.find(c);
    if (at != kEscaped.npos) {
      result += {'\\', kEscapes[at]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += "\\u00";
      result += {kDigits[static_cast<size_t>(c) / 16], kDigits[static_cast<size_t>(c) % 16]};
    } else {
      result += c;
    }
  }
  return result + "\"";
}

void JsonText::skip_space() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
}

bool JsonText::take(char c) {
  skip_space();
  if (!rest_.starts_with(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

Status JsonText::expected(std::string_view what) const {
  return Status(Code::kCorrupt, what_ + ": " + std::string(what) + " expected at byte " +
                                    std::to_string(size_ - rest_.size()));
}

Status JsonText::object(const std::function<Status(const std::string&)>& member) {
  if (!take('{')) return expected("{");
  if (take('}')) return {};
  std::set<std::string> keys;
  do {
    SHOAL_ASSIGN(const std::string key, text());
    if (!keys.insert(key).second) return expected("another name than " + key);
    if (!take(':')) return expected(":");
    SHOAL_TRY(member(key));
  } while (take(','));
  return take('}') ? Status() : expected("}");
}

Result<char32_t> JsonText::hexadecimal() {
  constexpr size_t kDigits = 4;
  uint32_t code = 0;
  const std::string_view digits = rest_.substr(0, kDigits);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (error != std::errc() || end != digits.data() + kDigits) return expected("an escape");
  rest_.remove_prefix(kDigits);
  return static_cast<char32_t>(code);
}

// The character after a backslash. Beyond the first plane it takes two escapes, a surrogate pair.
Result<char32_t> JsonText::escape() {
  if (rest_.empty()) return expected("an escape");
  const char c = rest_[0];
  rest_.remove_prefix(1);
  if (const size_t at = kEscapes.find(c); at != kEscapes.npos) {
    return static_cast<char32_t>(kEscaped[at]);
  }
  if (c != 'u') return expected("an escape");
  SHOAL_ASSIGN(const char32_t code, hexadecimal());
  if (code < 0xd800 || code >= 0xe000) return code;
  if (code >= 0xdc00 || !rest_.starts_with("\\u")) return expected("a surrogate pair");
  rest_.remove_prefix(2);
  SHOAL_ASSIGN(const char32_t low, hexadecimal());
  if (low < 0xdc00 || low >= 0xe000) return expected("a surrogate pair");
  return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

Result<std::string> JsonText::text() {
  if (!take('"')) return expected("\"");
  std::string result;
  for (;;) {
    const size_t plain = rest_.find_first_of("\"\\");
    if (plain == rest_.npos) return expected("the end of a text");
    const std::string_view part = rest_.substr(0, plain);
    if (std::ranges::any_of(part, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
      return expected("an escape for a control character");
    }
    result += part;
    const bool ends = rest_[plain] == '"';
    rest_.remove_prefix(plain + 1);
    if (ends) return result;
    SHOAL_ASSIGN(const char32_t c, escape());
    append_utf8(result, c);
  }
}

Result<bool> JsonText::boolean() {
  skip_space();
  for (const auto& [word, value] : {std::pair<std::string_view, bool>("true", true),
                                    std::pair<std::string_view, bool>("false", false)}) {
    if (!rest_.starts_with(word)) continue;
    rest_.remove_prefix(word.size());
    return value;
  }
  return expected("true or false");
}

template <class Number>
Status JsonText::number(Number& value, std::string_view what) {
  skip_space();
  // from_chars also takes "inf", "nan", "01" and "1.", which are no JSON.
  const std::string_view digits = rest_.substr(rest_.starts_with('-') ? 1 : 0);
  const auto is_digit = [&](size_t i) {
    return i < digits.size() && digits[i] >= '0' && digits[i] <= '9';
  };
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  const bool begins = whole > 0 && (digits[0] != '0' || whole == 1);
  const bool has_fraction = whole < digits.size() && digits[whole] == '.';
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (!begins || (has_fraction && !is_digit(whole + 1)) || error != std::errc()) {
    return expected(what);
  }
  rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
  return {};
}

#define SHOAL_NUMBER(T) template Status JsonText::number<T>(T&, std::string_view);
SHOAL_NUMBER(int8_t)
SHOAL_NUMBER(uint8_t)
SHOAL_NUMBER(int16_t)
SHOAL_NUMBER(uint16_t)
SHOAL_NUMBER(int32_t)
SHOAL_NUMBER(uint32_t)
SHOAL_NUMBER(int64_t)
SHOAL_NUMBER(uint64_t)
SHOAL_NUMBER(float)
SHOAL_NUMBER(double)
#undef SHOAL_NUMBER

Status JsonText::list(const std::function<Status()>& element) {
  if (!take('[')) return expected("[");
  if (take(']')) return {};
  do {
    SHOAL_TRY(element());
  } while (take(','));
  return take(']') ? Status() : expected("]");
}

Status JsonText::nested_list(const std::function<Status()>& element, size_t depth) {
  if (depth == 0) return expected("less nesting");
  return list([&] { return next_is('[') ? nested_list(element, depth - 1) : element(); });
}

Status JsonText::skip(size_t depth) {
  if (depth == 0) return expected("less nesting");
  if (next_is('{')) {
    return object([&](const std::string&) { return skip(depth - 1); });
  }
  if (next_is('[')) {
    return list([&] { return skip(depth - 1); });
  }
  if (next_is('"')) return text().status();
  if (next_is('t') || next_is('f')) return boolean().status();
  if (rest_.starts_with("null")) {
    rest_.remove_prefix(4);
    return {};
  }
  double ignored = 0;
  return number(ignored);
}

bool JsonText::next_is(char c) {
  skip_space();
  return rest_.starts_with(c);
}

// The limit of the list keeps a hostile file from filling memory.
template <class Number>
Status JsonText::list_of(std::vector<Number>& list, std::string_view what) {
  constexpr size_t kMost = 64;  // dimensions, offsets, or channels
  if (!take('[')) return expected("[");
  if (take(']')) return {};
  do {
    if (list.size() == kMost) return expected("no more than " + std::to_string(kMost));
    SHOAL_TRY(number(list.emplace_back(), what));
  } while (take(','));
  return take(']') ? Status() : expected("]");
}

Result<int64_t> JsonText::integer() {
  int64_t value = 0;
  SHOAL_TRY(number(value, "an integer"));
  return value;
}

Status JsonText::integers(std::vector<int64_t>& list) { return list_of(list, "an integer"); }
Status JsonText::numbers(std::vector<double>& list) { return list_of(list, "a number"); }

Status JsonText::end() {
  skip_space();
  return rest_.empty() ? Status() : expected("the end");
}

}  // namespace shoal
