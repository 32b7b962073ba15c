// Reads JSON as a value. Apart from json.cc: with the copy constructor in sight, g++ 12 warns of
// members that are not initialised.
#include "shoal/base/text/json.h"
#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"

namespace shoal {
namespace {

constexpr size_t kMaxDepth = 64;

Result<Json> read(JsonText& text, size_t depth);

// An integer where it is written as one and fits.
Result<Json> read_number(JsonText& text) {
  const auto is_whole = [](JsonText& after) {
    return !after.next_is('.') && !after.next_is('e') && !after.next_is('E');
  };
  JsonText copy = text;
  int64_t whole = 0;
  if (copy.number(whole).ok() && is_whole(copy)) {
    text = copy;
    return Json(whole);
  }
  copy = text;
  uint64_t large = 0;
  if (copy.number(large).ok() && is_whole(copy)) {
    text = copy;
    return Json(large);
  }
  double number = 0;
  SHOAL_TRY(text.number(number));
  return Json(number);
}

Result<Json> read_object(JsonText& text, size_t depth) {
  Json object = Json::object();
  SHOAL_TRY(text.object([&](const std::string& key) -> Status {
    SHOAL_ASSIGN(object[key], read(text, depth - 1));
    return {};
  }));
  return object;
}

Result<Json> read_array(JsonText& text, size_t depth) {
  Json array = Json::array();
  SHOAL_TRY(text.list([&]() -> Status {
    SHOAL_ASSIGN(Json element, read(text, depth - 1));
    array.push_back(std::move(element));
    return {};
  }));
  return array;
}

Result<Json> read(JsonText& text, size_t depth) {
  if (depth == 0) return Status(Code::kCorrupt, "JSON is nested too deep");
  if (text.next_is('{')) return read_object(text, depth);
  if (text.next_is('[')) return read_array(text, depth);
  if (text.next_is('"')) {
    SHOAL_ASSIGN(std::string string, text.text());
    return Json(std::move(string));
  }
  if (text.next_is('t') || text.next_is('f')) {
    SHOAL_ASSIGN(const bool value, text.boolean());
    return Json(value);
  }
  if (!text.next_is('n')) return read_number(text);
  SHOAL_TRY(text.skip());
  return Json();
}

}  // namespace

Result<Json> Json::parse(std::string_view text) {
  if (valid_utf8(text) != text) return Status(Code::kCorrupt, "JSON is UTF-8, and this is none");
  JsonText rest(text, "JSON");
  SHOAL_ASSIGN(Json json, read(rest, kMaxDepth));
  SHOAL_TRY(rest.end());
  return json;
}

}  // namespace shoal
