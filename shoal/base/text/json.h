// Json: results for scripts, as a value that is put together, joined and written.
//
//   Json result = {{"model", name}, {"runs", 3}, {"sizes", Json::array({1, 2})}};
//   result["median_ms"] = 0.5;
//   std::puts(result.dump().c_str());
//
// A result's to_json() is beside its type, so that a command, a server and other languages give the
// same object. Large documents, and what strangers send, are read by JsonText (json_text.h).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

class Json {
 public:
  using Member = std::pair<const std::string, Json>;

  Json();  // null
  Json(std::nullptr_t) : Json() {}
  Json(bool value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(int64_t{value}) {}
  template <std::unsigned_integral T>
  Json(T value) : value_(uint64_t{value}) {}
  Json(double value) : value_(value) {}  // null if it is no finite number
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}
  template <class T>
  Json(const std::vector<T>& elements) : value_(Elements(elements.begin(), elements.end())) {}
  template <class T>
  Json(const std::map<std::string, T>& members) : value_(Members(members.begin(), members.end())) {}
  Json(std::initializer_list<Member> members);
  // Not inline: a variant of this size is much code, which every list of members would repeat.
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> elements = {});
  // kCorrupt if the text is no JSON, nests deeper than 64 times or has a name twice.
  static Result<Json> parse(std::string_view text);
  static Json object() { return Json(std::initializer_list<Member>{}); }

  Json& operator[](const std::string& key);  // REQUIRES: an object, or null, which becomes one
  Json& operator[](size_t index);            // REQUIRES: an array with more elements
  void push_back(Json element);              // REQUIRES: an array, or null, which becomes one
  void update(const Json& other);            // its members, too. REQUIRES: two objects

  const std::map<std::string, Json>& members() const;  // REQUIRES: an object
  bool is_object() const { return std::holds_alternative<Members>(value_); }
  const Json* find(const std::string& key) const;  // null: no object, or no such member

  // Stores the value in the argument. kCorrupt if it is of another type, or a number that would not
  // be the same there.
  Status to(bool& value) const;
  Status to(int64_t& value) const;
  Status to(uint64_t& value) const;
  Status to(double& value) const;  // from an integer, too
  Status to(std::string& value) const;
  Status to(Json& value) const;
  template <class T>
  Status to(std::vector<T>& elements) const {
    const auto* all = std::get_if<Elements>(&value_);
    if (all == nullptr) return Status(Code::kCorrupt, "a list expected");
    elements.resize(all->size());
    for (size_t i = 0; i < all->size(); ++i) SHOAL_TRY((*all)[i].to(elements[i]));
    return {};
  }
  template <class T>
  Status to(std::map<std::string, T>& members) const {
    const auto* all = std::get_if<Members>(&value_);
    if (all == nullptr) return Status(Code::kCorrupt, "an object expected");
    for (const auto& [name, member] : *all) SHOAL_TRY(member.to(members[name]).at(name));
    return {};
  }
  // The same of a member. kCorrupt if there is none.
  template <class T>
  Status get(const std::string& key, T& value) const {
    const Json* const member = find(key);
    return member == nullptr ? Status(Code::kCorrupt, key + " is missing")
                             : member->to(value).at(key);
  }

  friend bool operator==(const Json&, const Json&) = default;

  // Members in the order of their names, on one line unless `indent` is given. Bytes in strings
  // that are no UTF-8 become the replacement character.
  std::string dump(int indent = -1) const;

 private:
  using Elements = std::vector<Json>;
  using Members = std::map<std::string, Json>;

  void write(std::string& text, int indent, int depth) const;
  template <class T>
  Status take(T& value, const char* what) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Elements, Members>
      value_;
};

}  // namespace shoal
