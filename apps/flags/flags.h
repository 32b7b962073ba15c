// Commands and their flags. CLI11 parses them, in flags.cc only: compiling it takes eight seconds,
// and most sources of this program declare flags. Names are CLI11's, if it has them.
//
//   Command* run = app.add_subcommand("run", "Run a model on inputs");
//   run->add_option("--top", flags.top, "Number of classes to show")->check(in_range(1, 1000));
//
// Nothing here is thread-safe. Variables that are bound to flags must outlive parse().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace shoal::cli {

// A condition on the text of a flag. --help shows it.
class Check {
 public:
  explicit Check(const CLI::Validator& validator);

 private:
  friend class Option;
  std::shared_ptr<const CLI::Validator> validator_;
};

Check in_range(int low, int high);
Check in_range(double low, double high);
Check one_of(std::vector<std::string> names);
Check positive();
Check not_negative();
Check existing_file();

// A flag, an option with a value, or a positional argument. Belongs to its Command.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  Option* required();
  Option* check(const Check& check);
  // `problem` returns the error of a text, or an empty string.
  Option* check(std::function<std::string(const std::string&)> problem);
  Option* needs(const Option* other);
  Option* excludes(const Option* other);
  Option* group(const std::string& name);        // a heading in --help
  Option* delimiter(char separator);             // between the elements of a list
  Option* envname(const std::string& variable);  // where the value comes from if it is not given
  Option* capture_default_str();                 // shows the variable's value now in --help

  size_t count() const;  // how often it was given
  std::string group() const;
  std::string description() const;
  std::vector<std::string> long_names() const;  // without dashes

 private:
  friend class Command;
  CLI::Option* option_;
};

class Command {
 public:
  Command(const std::string& description, const std::string& name);  // the program itself
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& description);
  // `names` as in "--output,-o" or, without dashes, a positional argument. T is one of the types
  // that flags.cc lists.
  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& help);
  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& help,
                     const Check& check) {
    return add_option(names, value, help)->check(check);
  }
  // An option with a default value, which --help shows. `check` is none or one Check.
  template <class T, class... Checks>
  Option* add_setting(const std::string& names, T& value, const std::string& help,
                      const Checks&... check) {
    return add_option(names, value, help, check...)->capture_default_str();
  }
  // "--scale,!--no-scale" are opposites; "--cluster{own}" has the value "own" if none is given.
  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  Option* add_flag(const std::string& names, std::string& value, const std::string& help);
  Option* add_flag(const std::string& names, std::function<void()> given, const std::string& help);

  // A flag for each, under its heading, with its bounds and its default.
  void add(const SettingList& settings);

  void footer(const std::string& text);
  void group(const std::string& name);    // a heading in the program's --help; empty: not in it
  void version(const std::string& text);  // what --version prints
  void require_subcommand();
  // Called in parse(): after this command was given, and to refuse contradicting flags.
  void callback(std::function<void()> given);
  void check_together(std::function<Status()> check);

  std::string name() const;
  std::string description() const;
  std::vector<const Command*> subcommands() const;
  Command* last_subcommand() const;            // of those added; null if none was given
  std::vector<const Option*> options() const;  // --help is one
  // The option with this long name, "--epochs". REQUIRES: it exists.
  Option* option(const std::string& name) const;
  // How often an option was given. REQUIRES: this command has it.
  size_t count(const std::string& option) const;
  // A predicate for given flags. This must outlive it.
  GivenFlags given() const;

  // Takes the words after the program's name. Returns the exit code if the program should end: it
  // printed help or the version (0), or an error (else).
  std::optional<int> parse(std::vector<std::string> words);

 private:
  explicit Command(CLI::App* app);

  std::unique_ptr<CLI::App> owned_;  // by the program itself
  CLI::App* app_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::vector<std::unique_ptr<Option>> options_;
};

// Flags under one heading of --help, or the default one. `needs`: all of them require that flag.
class FlagGroup {
 public:
  explicit FlagGroup(Command& command, std::string heading = "", const Option* needs = nullptr)
      : command_(command), heading_(std::move(heading)), needs_(needs) {}

  // As Command's.
  template <class T, class... Checks>
  Option* add_option(const std::string& names, T& value, const std::string& help,
                     const Checks&... check) const {
    return grouped(command_.add_option(names, value, help, check...));
  }
  template <class T, class... Checks>
  Option* add_setting(const std::string& names, T& value, const std::string& help,
                      const Checks&... check) const {
    return grouped(command_.add_setting(names, value, help, check...));
  }
  Option* add(const Setting& setting) const;
  void add(const SettingList& settings) const;
  template <class T>
  Option* add_flag(const std::string& names, T&& value, const std::string& help) const {
    return grouped(command_.add_flag(names, std::forward<T>(value), help));
  }

 private:
  Option* grouped(Option* option) const;

  Command& command_;
  const std::string heading_;
  const Option* const needs_;
};

// A check that a text can be parsed: the error of parse(text), a Result.
template <class Parse>
std::function<std::string(const std::string&)> parsed_by(Parse parse) {
  return [parse](const std::string& text) {
    const auto parsed = parse(text);
    return parsed.ok() ? std::string() : std::string(parsed.status().message());
  };
}

}  // namespace shoal::cli
