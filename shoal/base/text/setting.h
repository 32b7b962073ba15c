// Setting: a variable that people set, by its name, with what it means and what it may be. Those of
// a command are described once, in apps/commands, so that flags of command lines and keys of files
// have the same names, bounds and defaults.
//
//   SettingList settings_of(SearchOptions& options) {
//     return {Setting("units", options.units, "Devices that compute together").in(1, 256),
//             Setting("link", options.link, "Their network: gigabit, wifi-94, ...")};
//   }
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

struct Setting {
  using Place =
      std::variant<bool*, int*, int64_t*, uint32_t*, uint64_t*, float*, double*, std::string*,
                   std::filesystem::path*, std::vector<int>*, std::vector<int64_t>*,
                   std::vector<float>*, std::vector<double>*, std::vector<std::string>*>;
  static constexpr double kPositive = std::numeric_limits<double>::min();  // the least such number
  static constexpr double kMost = std::numeric_limits<double>::max();

  std::string name;  // of the flag, without dashes
  Place value;       // where it is kept, which holds the default until it is set
  std::string help;
  std::string heading = {};               // of --help; empty: the usual one
  std::vector<std::string> choices = {};  // the texts that it may be; empty: any
  double least = -kMost, most = kMost;    // of a number
  std::function<Status(const std::string& text)> check = {};  // of anything else; none: any text
  std::vector<std::string> needs = {}, excludes = {};         // names of other settings
  std::vector<std::string> aliases = {};  // flags of command lines that mean it, too; "o" is -o
  bool commas = false;  // between the elements of a list of texts; numbers always have them
  enum class Default { kUnlessNone, kShown, kHidden } shown = Default::kUnlessNone;  // in --help
  bool none_in_files = false;  // files may say none, 0 or an empty text, in spite of bounds
  bool of_machine = false;     // another machine has another one: recipes leave it out
  bool given = false;          // on the command line, where a file does not change it

  // The variable must live as long as this is used, and as the flags that are made of it.
  template <class T>
  Setting(std::string setting, T& variable, std::string what)
      : name(std::move(setting)), value(&variable), help(std::move(what)) {}

  // Each of these returns the setting itself.
  Setting& in(double low, double high);
  Setting& positive() { return in(kPositive, kMost); }
  Setting& not_negative() { return in(0, kMost); }
  Setting& one_of(std::vector<std::string> texts);
  Setting& checked(std::function<Status(const std::string& text)> by);
  // What parse(text), a Result, can parse.
  template <class Parse>
  Setting& parsed_by(Parse parse) {
    return checked([parse](const std::string& text) { return parse(text).status(); });
  }
  Setting& with(std::string other);      // it needs that one
  Setting& not_with(std::string other);  // it excludes that one
  Setting& also(std::string alias);      // another name for the same setting
  Setting& separated_by_commas();
  Setting& showing_default();  // although it is 0
  Setting& hiding_default();
  Setting& or_none();
  Setting& of_this_machine();

  // Whether --help says what it is unless it is given.
  bool shows_default() const;
};

using SettingList = std::vector<Setting>;

// What a number of these bounds is, for people: "0 or more", "more than 0", "from 1 to 256".
std::string bounds_text(double least, double most);

// Says whether a flag, "--epochs", was given.
using GivenFlags = std::function<bool(const std::string& flag)>;

// The same settings under a heading, and with another one that they need.
SettingList under(const std::string& heading, SettingList settings);
SettingList needing(const std::string& other, SettingList settings);
SettingList joined(std::initializer_list<SettingList> parts);

// Lets the variables of `to` be those of `from` whose flags were given. REQUIRES: both are the same
// settings, of two values of one type.
void take_given(const SettingList& to, const SettingList& from, const GivenFlags& given);

}  // namespace shoal
