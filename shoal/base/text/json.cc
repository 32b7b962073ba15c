// Writes like nlohmann-json, which other programs of this field use: doubles have a point (1.0), an
// exponent from 1e+15 and 1e-05 on, and read back as the same number.
#include "shoal/base/text/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "shoal/base/overloaded.h"
#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"

namespace shoal {
namespace {

std::string text_of(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> all;
  const auto end =
      std::to_chars(all.data(), all.data() + all.size(), number, std::chars_format::scientific).ptr;
  const std::string scientific(all.data(), end);
  const std::string sign = scientific[0] == '-' ? "-" : "";
  const size_t e = scientific.find('e');
  std::string digits;
  for (const char c : scientific.substr(sign.size(), e - sign.size())) {
    if (c != '.') digits += c;
  }
  constexpr int kLeast = -4, kMost = 15;
  const int point = std::stoi(scientific.substr(e + 1)) + 1;  // digits before it
  const auto places = static_cast<int>(digits.size());
  if (point <= kLeast || point > kMost) return scientific;
  if (point <= 0) return sign + "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (places <= point) {
    return sign + digits + std::string(static_cast<size_t>(point - places), '0') + ".0";
  }
  return sign + digits.insert(static_cast<size_t>(point), ".");
}

std::string text_of(const std::string& text) { return json_text(valid_utf8(text)); }

}  // namespace

Json::Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Member> members) : value_(Members(members)) {}

Json Json::array(std::initializer_list<Json> elements) {
  Json array;
  array.value_ = Elements(elements);
  return array;
}

Json& Json::operator[](const std::string& key) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Members();
  return std::get<Members>(value_)[key];
}

Json& Json::operator[](size_t index) { return std::get<Elements>(value_).at(index); }

void Json::push_back(Json element) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Elements();
  std::get<Elements>(value_).push_back(std::move(element));
}

void Json::update(const Json& other) {
  for (const auto& [name, member] : std::get<Members>(other.value_)) (*this)[name] = member;
}

const std::map<std::string, Json>& Json::members() const { return std::get<Members>(value_); }

const Json* Json::find(const std::string& key) const {
  const auto* all = std::get_if<Members>(&value_);
  if (all == nullptr) return nullptr;
  const auto it = all->find(key);
  return it == all->end() ? nullptr : &it->second;
}

template <class T>
Status Json::take(T& value, const char* what) const {
  const T* const held = std::get_if<T>(&value_);
  if (held == nullptr) return Status(Code::kCorrupt, std::string(what) + " expected");
  value = *held;
  return {};
}

Status Json::to(bool& value) const { return take(value, "true or false"); }
Status Json::to(std::string& value) const { return take(value, "a text"); }

Status Json::to(int64_t& value) const {
  const auto* large = std::get_if<uint64_t>(&value_);
  if (large == nullptr || !std::in_range<int64_t>(*large)) return take(value, "an integer");
  value = static_cast<int64_t>(*large);
  return {};
}

Status Json::to(uint64_t& value) const {
  const auto* small = std::get_if<int64_t>(&value_);
  if (small == nullptr || *small < 0) return take(value, "an integer that is not negative");
  value = static_cast<uint64_t>(*small);
  return {};
}

Status Json::to(double& value) const {
  if (const auto* whole = std::get_if<int64_t>(&value_)) {
    value = static_cast<double>(*whole);
    return {};
  }
  if (const auto* large = std::get_if<uint64_t>(&value_)) {
    value = static_cast<double>(*large);
    return {};
  }
  return take(value, "a number");
}

Status Json::to(Json& value) const {
  value = *this;
  return {};
}

void Json::write(std::string& text, int indent, int depth) const {
  const auto line = [&](int deep) {
    if (indent >= 0) text += "\n" + std::string(static_cast<size_t>(indent * deep), ' ');
  };
  const auto write_all = [&](char open, char close, const auto& all, const auto& write_one) {
    text += open;
    bool is_first = true;
    for (const auto& one : all) {
      if (!std::exchange(is_first, false)) text += ',';
      line(depth + 1);
      write_one(one);
    }
    if (!is_first) line(depth);
    text += close;
  };
  std::visit(Overloaded{[&](std::monostate) { text += "null"; },
                        [&](bool value) { text += value ? "true" : "false"; },
                        [&](int64_t value) { text += std::to_string(value); },
                        [&](uint64_t value) { text += std::to_string(value); },
                        [&](double value) { text += text_of(value); },
                        [&](const std::string& value) { text += text_of(value); },
                        [&](const Elements& all) {
                          write_all('[', ']', all,
                                    [&](const Json& one) { one.write(text, indent, depth + 1); });
                        },
                        [&](const Members& all) {
                          write_all('{', '}', all, [&](const Member& one) {
                            text += text_of(one.first) + (indent >= 0 ? ": " : ":");
                            one.second.write(text, indent, depth + 1);
                          });
                        }},
             value_);
}

std::string Json::dump(int indent) const {
  std::string text;
  write(text, indent, 0);
  return text;
}

}  // namespace shoal
