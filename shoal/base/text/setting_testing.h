// Checks a table of settings, for the tests of the code that describes it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>

#include "shoal/base/text/setting.h"

namespace shoal {

// Whether --help shows a default only where the setting may be given that value.
template <class T>
bool may_be(const Setting& setting, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto number = static_cast<double>(value);
    return number >= setting.least && number <= setting.most;
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto& all = setting.choices;
    return (all.empty() || std::ranges::find(all, value) != all.end()) &&
           (!setting.check || setting.check(value).ok());
  } else {
    return true;
  }
}

// Names are told apart, all have a help that is no sentence, and defaults that are shown are in
// their bounds.
inline void expect_described(const SettingList& settings) {
  std::set<std::string> names;
  for (const Setting& setting : settings) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " is there twice";
    EXPECT_EQ(setting.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos)
        << setting.name;
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_FALSE(setting.help.ends_with(".") && !setting.help.ends_with("...")) << setting.name;
    if (!setting.shows_default()) continue;
    EXPECT_TRUE(
        std::visit([&](const auto* value) { return may_be(setting, *value); }, setting.value))
        << setting.name;
  }
}

}  // namespace shoal
