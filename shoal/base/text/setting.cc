#include "shoal/base/text/setting.h"

#include <sstream>
#include <type_traits>

namespace shoal {

Setting& Setting::in(double low, double high) {
  least = low;
  most = high;
  return *this;
}

Setting& Setting::one_of(std::vector<std::string> texts) {
  choices = std::move(texts);
  return *this;
}

Setting& Setting::checked(std::function<Status(const std::string& text)> by) {
  check = std::move(by);
  return *this;
}

Setting& Setting::with(std::string other) {
  needs.push_back(std::move(other));
  return *this;
}

Setting& Setting::not_with(std::string other) {
  excludes.push_back(std::move(other));
  return *this;
}

Setting& Setting::also(std::string alias) {
  aliases.push_back(std::move(alias));
  return *this;
}

Setting& Setting::separated_by_commas() {
  commas = true;
  return *this;
}

Setting& Setting::showing_default() {
  shown = Default::kShown;
  return *this;
}

Setting& Setting::hiding_default() {
  shown = Default::kHidden;
  return *this;
}

Setting& Setting::or_none() {
  none_in_files = true;
  return *this;
}

Setting& Setting::of_this_machine() {
  of_machine = true;
  return *this;
}

bool Setting::shows_default() const {
  if (shown != Default::kUnlessNone) return shown == Default::kShown;
  return std::visit(
      [](const auto* variable) {
        using T = std::remove_cvref_t<decltype(*variable)>;
        if constexpr (std::is_arithmetic_v<T>) {
          return *variable != T{};
        } else {
          return !variable->empty();
        }
      },
      value);
}

std::string bounds_text(double least, double most) {
  const bool open = most == Setting::kMost;
  if (open && least == Setting::kPositive) return "more than 0";
  std::ostringstream text;
  if (open) {
    text << least << " or more";
  } else if (least == -Setting::kMost) {
    text << most << " or less";
  } else {
    text << "from " << least << " to " << most;
  }
  return text.str();
}

SettingList under(const std::string& heading, SettingList settings) {
  for (Setting& setting : settings) setting.heading = heading;
  return settings;
}

SettingList needing(const std::string& other, SettingList settings) {
  for (Setting& setting : settings) setting.with(other);
  return settings;
}

SettingList joined(std::initializer_list<SettingList> parts) {
  SettingList all;
  for (const SettingList& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void take_given(const SettingList& to, const SettingList& from, const GivenFlags& given) {
  SHOAL_CHECK(to.size() == from.size());
  for (size_t i = 0; i < to.size(); ++i) {
    SHOAL_CHECK(to[i].name == from[i].name);
    if (!given("--" + to[i].name)) continue;
    std::visit([&](auto* place) { *place = *std::get<decltype(place)>(from[i].value); },
               to[i].value);
  }
}

}  // namespace shoal
