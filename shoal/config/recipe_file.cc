#include "shoal/config/recipe_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "shoal/base/overloaded.h"
#include "shoal/base/printable.h"
#include "shoal/config/toml_file.h"

namespace shoal::config {
namespace {

template <class T>
std::string shortest(T number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  std::string text(digits.data(), end);
  // Without a point it would be an integer, which is one number in many, but not above 2^63.
  return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}

std::string text_of(double number) { return shortest(number); }

// Few digits are enough for a float, unless reading them as a double first makes it another one.
std::string text_of(float number) {
  const std::string text = shortest(number);
  const double read = std::strtod(text.c_str(), nullptr);
  return static_cast<float>(read) == number ? text : shortest(static_cast<double>(number));
}

Result<std::string> text_of(std::string_view text) {
  if (valid_utf8(text) != text) return invalid("it is no UTF-8, as TOML must be");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\u00";
      quoted += {kDigits[byte / 16], kDigits[byte % 16]};
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "\"";
}

Result<std::string> text_of(const Setting::Place& place) {
  using Text = Result<std::string>;
  return std::visit(
      Overloaded{[](const bool* value) -> Text { return std::string(*value ? "true" : "false"); },
                 [](const uint64_t* value) -> Text {
                   if (*value > uint64_t{INT64_MAX}) return invalid("it is too large for TOML");
                   return std::to_string(*value);
                 },
                 [](const float* value) -> Text { return text_of(*value); },
                 [](const double* value) -> Text { return text_of(*value); },
                 [](const std::string* value) -> Text { return text_of(std::string_view(*value)); },
                 [](const std::filesystem::path* value) -> Text {
                   return text_of(std::string_view(value->native()));
                 },
                 [](const std::vector<float>* value) -> Text {
                   std::string list;
                   for (float x : *value) list += (list.empty() ? "" : ", ") + text_of(x);
                   return "[" + list + "]";
                 },
                 [](const auto* value) -> Text { return std::to_string(*value); }},
      place);
}

// A number in the range of a setting and of its type.
template <class T>
std::optional<T> number_of(const toml::node& node, const Setting& setting) {
  if constexpr (std::is_floating_point_v<T>) {
    const std::optional<double> value = node.value<double>();
    if (!value || !(*value >= setting.least && *value <= setting.most)) return std::nullopt;
    const auto number = static_cast<T>(*value);
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  } else {
    const std::optional<int64_t> value = node.value_exact<int64_t>();
    if (!value || !std::in_range<T>(*value)) return std::nullopt;
    const auto real = static_cast<double>(*value);
    if (!(real >= setting.least && real <= setting.most)) return std::nullopt;
    return static_cast<T>(*value);
  }
}

std::optional<std::string> text_from(const toml::node& node, const Setting& setting) {
  std::optional<std::string> text = node.value_exact<std::string>();
  if (!text || setting.one_of.empty()) return text;
  return std::ranges::find(setting.one_of, *text) != setting.one_of.end() ? text : std::nullopt;
}

std::optional<std::vector<float>> list_of(const toml::node& node, const Setting& setting) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<float> list;
  for (const toml::node& element : *array) {
    const auto number = number_of<float>(element, setting);
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

Status take(const toml::node& node, const Setting& setting) {
  const auto keep = [&]<class T>(T& place, std::optional<T> value) -> Status {
    if (!value) return invalid(std::string(setting.name) + " is not what it can be");
    if (!setting.given) place = *std::move(value);
    return {};
  };
  return std::visit(
      Overloaded{[&](bool* place) { return keep(*place, node.value_exact<bool>()); },
                 [&](std::string* place) { return keep(*place, text_from(node, setting)); },
                 [&](std::filesystem::path* place) {
                   auto text = text_from(node, setting);
                   return keep(*place,
                               text ? std::optional<std::filesystem::path>(*text) : std::nullopt);
                 },
                 [&](std::vector<float>* place) { return keep(*place, list_of(node, setting)); },
                 [&]<class T>(T* place) { return keep(*place, number_of<T>(node, setting)); }},
      setting.value);
}

}  // namespace

Result<std::string> to_recipe(std::span<const Setting> settings) {
  std::string recipe;
  for (const Setting& setting : settings) {
    const auto text = text_of(setting.value);
    if (!text.ok()) return text.status().at(setting.name);
    recipe += std::string(setting.name) + " = " + *text + "\n";
  }
  return recipe;
}

Status parse_recipe(std::string_view text, const std::string& name,
                    std::span<const Setting> settings, const std::set<std::string_view>& others) {
  SHOAL_ASSIGN(const toml::table root, parse_toml(text, name));
  std::set<std::string_view> names = others;
  for (const Setting& setting : settings) names.insert(setting.name);
  SHOAL_TRY(allow(root, names).at(name));
  for (const Setting& setting : settings) {
    if (const toml::node* node = root.get(setting.name)) {
      SHOAL_TRY(take(*node, setting).at(name));
    }
  }
  return {};
}

Status read_recipe(const std::filesystem::path& path, std::span<const Setting> settings) {
  return read_toml(path, [&](std::string_view text, const std::string& name) {
    return parse_recipe(text, name, settings);
  });
}

}  // namespace shoal::config
