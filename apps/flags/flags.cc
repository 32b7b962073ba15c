// Commands and flags by CLI11, behind the classes of flags.h. Only this source includes CLI11.
#include "apps/flags/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "shoal/base/overloaded.h"

namespace shoal::cli {
namespace {

constexpr size_t kHelpColumn = 34;  // where descriptions begin

// Bounds of a number in the words of --help.
std::optional<Check> bounds_of(const Setting& setting) {
  if (!setting.choices.empty()) return one_of(setting.choices);
  if (setting.most == Setting::kMost) {
    if (setting.least == Setting::kPositive) return positive();
    if (setting.least == 0) return not_negative();
    return std::nullopt;
  }
  const bool whole = std::visit(
      []<class T>(const T*) { return std::is_integral_v<T> && !std::is_same_v<T, bool>; },
      setting.value);
  if (!whole) return in_range(setting.least, setting.most);
  return in_range(static_cast<int>(setting.least), static_cast<int>(setting.most));
}

// A switch that is on by itself can be turned off.
Option* add_variable(Command& command, const Setting& setting) {
  std::string name = "--" + setting.name;
  for (const std::string& alias : setting.aliases) {
    name += (alias.size() == 1 ? ",-" : ",--") + alias;
  }
  return std::visit(
      Overloaded{[&](bool* value) {
                   const std::string off = *value ? ",!--no-" + setting.name : "";
                   return command.add_flag(name + off, *value, setting.help);
                 },
                 [&]<class T>(T* value) { return command.add_option(name, *value, setting.help); },
                 [&]<class T>(std::vector<T>* value) {
                   Option* list = command.add_option(name, *value, setting.help);
                   const bool commas = setting.commas || std::is_arithmetic_v<T>;
                   return commas ? list->delimiter(',') : list;
                 }},
      setting.value);
}

// Like CLI11's range, whose message prints numbers with six digits, and the largest one in full.
Check number_between(double low, double high, const std::string& in_help) {
  const auto problem = [low, high](const std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= low && number <= high) return {};
    return "it is " + bounds_text(low, high) + ", not " + text;
  };
  return Check(CLI::Validator(problem, in_help));
}

// Commands of one purpose stand together, as in git's help, under the heading that all of them had.
class GroupedHelp : public CLI::Formatter {
 public:
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    constexpr std::string_view kUsual = "Subcommands";
    const std::vector<const CLI::App*> all = app->get_subcommands({});
    std::vector<std::string> groups;
    for (const CLI::App* one : all) {
      const std::string& group = one->get_group();
      const bool is_new = std::ranges::find(groups, group) == groups.end();
      if (!group.empty() && is_new) groups.push_back(group);
    }
    if (groups.empty() || (groups.size() == 1 && groups[0] == kUsual)) {
      return CLI::Formatter::make_subcommands(app, mode);
    }
    std::string text = "\n" + std::string(kUsual) + ":\n";
    for (const std::string& group : groups) {
      text += "\n" + group + "\n";
      for (const CLI::App* one : all) {
        if (one->get_group() == group) text += make_subcommand(one);
      }
    }
    return text;
  }
};

}  // namespace

Check::Check(const CLI::Validator& validator)
    : validator_(std::make_shared<const CLI::Validator>(validator)) {}

Check in_range(int low, int high) { return Check(CLI::Range(low, high)); }
Check in_range(double low, double high) {
  return number_between(low, high, CLI::Range(low, high).get_description());
}
Check one_of(std::vector<std::string> names) { return Check(CLI::IsMember(std::move(names))); }
Check positive() { return number_between(Setting::kPositive, Setting::kMost, "POSITIVE"); }
Check not_negative() { return number_between(0, Setting::kMost, "NONNEGATIVE"); }
Check existing_file() { return Check(CLI::ExistingFile); }

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::check(const Check& check) {
  option_->check(*check.validator_);
  return this;
}

Option* Option::check(std::function<std::string(const std::string&)> problem) {
  option_->check(std::move(problem));
  return this;
}

Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::excludes(const Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::group(const std::string& name) {
  option_->group(name);
  return this;
}

Option* Option::delimiter(char separator) {
  option_->delimiter(separator);
  return this;
}

Option* Option::envname(const std::string& variable) {
  option_->envname(variable);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

size_t Option::count() const { return option_->count(); }
std::string Option::group() const { return option_->get_group(); }
std::string Option::description() const { return option_->get_description(); }
std::vector<std::string> Option::long_names() const { return option_->get_lnames(); }

Command::Command(const std::string& description, const std::string& name)
    : owned_(std::make_unique<CLI::App>(description, name)), app_(owned_.get()) {
  app_->formatter(std::make_shared<GroupedHelp>());
  app_->get_formatter()->column_width(kHelpColumn);
  options_.push_back(std::make_unique<Option>(app_->get_help_ptr()));
}

Command::Command(CLI::App* app) : app_(app) {
  options_.push_back(std::make_unique<Option>(app_->get_help_ptr()));
}

Command::~Command() = default;

Command* Command::add_subcommand(const std::string& name, const std::string& description) {
  CLI::App* added = app_->add_subcommand(name, description);
  subcommands_.push_back(std::unique_ptr<Command>(new Command(added)));
  return subcommands_.back().get();
}

// Explicit instances: the template is defined here, so that its users need not include CLI11.
template <class T>
Option* Command::add_option(const std::string& names, T& value, const std::string& help) {
  options_.push_back(std::make_unique<Option>(app_->add_option(names, value, help)));
  return options_.back().get();
}

template Option* Command::add_option(const std::string&, int&, const std::string&);
template Option* Command::add_option(const std::string&, int64_t&, const std::string&);
template Option* Command::add_option(const std::string&, uint32_t&, const std::string&);
template Option* Command::add_option(const std::string&, uint64_t&, const std::string&);
template Option* Command::add_option(const std::string&, float&, const std::string&);
template Option* Command::add_option(const std::string&, double&, const std::string&);
template Option* Command::add_option(const std::string&, std::string&, const std::string&);
template Option* Command::add_option(const std::string&, std::filesystem::path&,
                                     const std::string&);
template Option* Command::add_option(const std::string&, std::optional<float>&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<int>&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<int64_t>&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<float>&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<double>&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<std::string>&,
                                     const std::string&);

Option* Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  options_.push_back(std::make_unique<Option>(app_->add_flag(names, value, help)));
  return options_.back().get();
}

Option* Command::add_flag(const std::string& names, std::string& value, const std::string& help) {
  options_.push_back(std::make_unique<Option>(app_->add_flag(names, value, help)));
  return options_.back().get();
}

Option* Command::add_flag(const std::string& names, std::function<void()> given,
                          const std::string& help) {
  const auto call = [given = std::move(given)](int64_t) { given(); };
  options_.push_back(std::make_unique<Option>(app_->add_flag_function(names, call, help)));
  return options_.back().get();
}

void Command::add(const SettingList& settings) { FlagGroup(*this).add(settings); }

Option* FlagGroup::add(const Setting& setting) const {
  Option* option = grouped(add_variable(command_, setting));
  if (!setting.heading.empty()) option->group(setting.heading);
  if (std::holds_alternative<bool*>(setting.value)) return option;
  if (const std::optional<Check> bounds = bounds_of(setting)) option->check(*bounds);
  if (setting.check) {
    option->check([check = setting.check](const std::string& text) {
      const Status status = check(text);
      return status.ok() ? std::string() : std::string(status.message());
    });
  }
  return setting.shows_default() ? option->capture_default_str() : option;
}

void FlagGroup::add(const SettingList& settings) const {
  for (const Setting& setting : settings) add(setting);
  for (const Setting& setting : settings) {
    Option* option = command_.option("--" + setting.name);
    for (const std::string& other : setting.needs) option->needs(command_.option("--" + other));
    for (const std::string& other : setting.excludes) {
      option->excludes(command_.option("--" + other));
    }
  }
}

Option* FlagGroup::grouped(Option* option) const {
  if (needs_ != nullptr) option->needs(needs_);
  return heading_.empty() ? option : option->group(heading_);
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::group(const std::string& name) { app_->group(name); }
void Command::version(const std::string& text) { app_->set_version_flag("--version", text); }
void Command::require_subcommand() { app_->require_subcommand(1); }
void Command::callback(std::function<void()> given) { app_->callback(std::move(given)); }

// CLI11 reports by exceptions. parse() catches them all.
void Command::check_together(std::function<Status()> check) {
  app_->parse_complete_callback([check = std::move(check)] {
    const Status status = check();
    if (!status.ok()) throw CLI::ValidationError(std::string(status.message()));
  });
}

std::string Command::name() const { return app_->get_name(); }
std::string Command::description() const { return app_->get_description(); }

std::vector<const Command*> Command::subcommands() const {
  std::vector<const Command*> all;
  for (const auto& one : subcommands_) all.push_back(one.get());
  return all;
}

Command* Command::last_subcommand() const {
  return subcommands_.empty() ? nullptr : subcommands_.back().get();
}

std::vector<const Option*> Command::options() const {
  std::vector<const Option*> all;
  for (const auto& one : options_) all.push_back(one.get());
  return all;
}

Option* Command::option(const std::string& name) const {
  const CLI::Option* const wanted = app_->get_option_no_throw(name);
  const auto found =
      std::ranges::find_if(options_, [&](const auto& one) { return one->option_ == wanted; });
  SHOAL_CHECK(found != options_.end());
  return found->get();
}

size_t Command::count(const std::string& option) const { return app_->count(option); }

GivenFlags Command::given() const {
  return [this](const std::string& flag) { return count(flag) > 0; };
}

std::optional<int> Command::parse(std::vector<std::string> words) {
  try {
    std::ranges::reverse(words);  // as CLI11 takes them
    app_->parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
}

}  // namespace shoal::cli
