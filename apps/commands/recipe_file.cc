#include "apps/commands/recipe_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/commands/toml_file.h"
#include "shoal/base/text/printable.h"

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

Result<std::string> text_of(bool value) { return std::string(value ? "true" : "false"); }

template <std::integral T>
Result<std::string> text_of(T number) {
  if (!std::in_range<int64_t>(number)) return invalid("it is too large for TOML");
  return std::to_string(number);
}

Result<std::string> text_of(double number) { return shortest(number); }

// Few digits are enough for a float, unless reading them as a double first makes it another one.
Result<std::string> text_of(float number) {
  const std::string text = shortest(number);
  const double read = std::strtod(text.c_str(), nullptr);
  return static_cast<float>(read) == number ? text : shortest(static_cast<double>(number));
}

Result<std::string> text_of(const std::string& text) {
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

Result<std::string> text_of(const std::filesystem::path& path) { return text_of(path.native()); }

template <class T>
Result<std::string> text_of(const std::vector<T>& values) {
  std::string list;
  for (const T& value : values) {
    SHOAL_ASSIGN(const std::string text, text_of(value));
    list += (list.empty() ? "" : ", ") + text;
  }
  return "[" + list + "]";
}

bool in_bounds(double number, const Setting& setting) {
  return (number >= setting.least && number <= setting.most) ||
         (setting.none_in_files && number == 0);
}

// A number in the range of a setting and of its type.
template <class T>
std::optional<T> number_of(const toml::node& node, const Setting& setting) {
  if constexpr (std::is_floating_point_v<T>) {
    const std::optional<double> value = node.value<double>();
    if (!value || !in_bounds(*value, setting)) return std::nullopt;
    const auto number = static_cast<T>(*value);
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  } else {
    const std::optional<int64_t> value = node.value_exact<int64_t>();
    if (!value || !std::in_range<T>(*value)) return std::nullopt;
    if (!in_bounds(static_cast<double>(*value), setting)) return std::nullopt;
    return static_cast<T>(*value);
  }
}

std::optional<std::string> text_from(const toml::node& node, const Setting& setting) {
  std::optional<std::string> text = node.value_exact<std::string>();
  if (!text || (text->empty() && setting.none_in_files)) return text;
  const auto& choices = setting.choices;
  if (!choices.empty() && std::ranges::find(choices, *text) == choices.end()) return std::nullopt;
  return setting.check && !setting.check(*text).ok() ? std::nullopt : text;
}

// What a node holds, or nothing where the setting cannot be that.
template <class T>
struct Read {
  std::optional<T> operator()(const toml::node& node, const Setting& setting) const {
    if constexpr (std::is_same_v<T, bool>)
      return node.value_exact<bool>();
    else if constexpr (std::is_arithmetic_v<T>)
      return number_of<T>(node, setting);
    else
      return text_from(node, setting);
  }
};

template <class T>
struct Read<std::vector<T>> {
  std::optional<std::vector<T>> operator()(const toml::node& node, const Setting& setting) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) return std::nullopt;
    std::vector<T> list;
    for (const toml::node& element : *array) {
      auto value = Read<T>()(element, setting);
      if (!value) return std::nullopt;
      list.push_back(*std::move(value));
    }
    return list;
  }
};

Status take(const toml::node& node, const Setting& setting) {
  return std::visit(
      [&]<class T>(T* place) -> Status {
        auto value = Read<T>()(node, setting);
        if (!value) return invalid(setting.name + " is not what it can be");
        if (!setting.given) *place = *std::move(value);
        return {};
      },
      setting.value);
}

}  // namespace

Result<std::string> to_recipe(std::span<const Setting> settings) {
  std::string recipe;
  for (const Setting& setting : settings) {
    if (setting.of_machine) continue;
    const auto text = std::visit([](const auto* value) { return text_of(*value); }, setting.value);
    if (!text.ok()) return text.status().at(setting.name);
    recipe += setting.name + " = " + *text + "\n";
  }
  return recipe;
}

Status parse_recipe(std::string_view text, const std::string& name,
                    std::span<const Setting> settings, const std::set<std::string_view>& others) {
  SHOAL_ASSIGN(const toml::table root, parse_toml(text, name));
  std::set<std::string_view> names = others;
  for (const Setting& setting : settings) {
    if (!setting.of_machine) names.insert(setting.name);
  }
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
