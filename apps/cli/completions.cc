// shoal completions: for bash, zsh and fish, made from the commands themselves.
#include "apps/flags/completions.h"

#include <cstdio>

#include "cli.h"
#include "shoal/model/zoo/zoo.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal completions bash > ~/.local/share/bash-completion/completions/shoal
  shoal completions zsh > "${fpath[1]}/_shoal"
  shoal completions fish > ~/.config/fish/completions/shoal.fish)";

struct Flags {
  std::string shell;
  const Command* program = nullptr;
};

Outcome print_script(const Flags& flags) {
  std::vector<std::string> models;
  for (const zoo::Entry& entry : zoo::list()) models.push_back("zoo:" + std::string(entry.name));
  std::fputs(completions(*flags.program, flags.shell, models).c_str(), stdout);
  return {};
}

}  // namespace

void add_completions(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "completions", "Print shell completions", kExamples, print_script);
  flags.program = &app;
  command.add_option("shell", flags.shell, "bash, zsh or fish", one_of({"bash", "zsh", "fish"}))
      ->required();
}

}  // namespace shoal::cli
