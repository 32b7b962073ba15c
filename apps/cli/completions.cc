// shoal completions: for bash, zsh and fish, made from the commands themselves.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli.h"
#include "shoal/zoo/zoo.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal completions bash > ~/.local/share/bash-completion/completions/shoal
  shoal completions zsh > "${fpath[1]}/_shoal"
  shoal completions fish > ~/.config/fish/completions/shoal.fish)";

std::string flags_of(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  return words;
}

std::string command_names(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : app.get_subcommands({})) words += command->get_name() + " ";
  return words;
}

std::string model_names() {
  std::string words;
  for (const zoo::Entry& entry : zoo::list()) words += "zoo:" + std::string(entry.name) + " ";
  return words;
}

// zsh reads bash's script through bashcompinit.
void print_bash(const CLI::App& app, bool for_zsh) {
  if (for_zsh) std::printf("#compdef shoal\nautoload -U +X bashcompinit && bashcompinit\n");
  std::printf(
      "_shoal() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\n  case \"${COMP_WORDS[1]}\" "
      "in\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    std::printf("    %s) words=\"%s%s\" ;;\n", command->get_name().c_str(),
                flags_of(*command).c_str(), model_names().c_str());
  }
  std::printf("  esac\n  [ \"$COMP_CWORD\" = 1 ] && words=\"%s\"\n", command_names(app).c_str());
  std::printf(
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n}\n");
  // A colon is part of a word here: zoo:NAME.
  std::printf("COMP_WORDBREAKS=\"${COMP_WORDBREAKS//:/}\"\ncomplete -F _shoal shoal\n");
}

void print_fish(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& name = command->get_name();
    std::printf("complete -c shoal -n __fish_use_subcommand -a %s -d \"%s\"\n", name.c_str(),
                command->get_description().c_str());
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& flag : option->get_lnames()) {
        std::printf("complete -c shoal -n \"__fish_seen_subcommand_from %s\" -l %s -d \"%s\"\n",
                    name.c_str(), flag.c_str(), option->get_description().c_str());
      }
    }
  }
  std::printf("complete -c shoal -a \"%s\"\n", model_names().c_str());
}

}  // namespace

void add_completions(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completions", "Print shell completions");
  command->footer(kExamples);
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &action] {
    // Printed at once: the commands belong to the parser, which is gone when actions run.
    *shell == "fish" ? print_fish(app) : print_bash(app, *shell == "zsh");
    action = [] { return Outcome{}; };
  });
}

}  // namespace shoal::cli
