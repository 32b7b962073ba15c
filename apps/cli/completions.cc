// shoal completions: for bash, zsh and fish, made from the commands themselves.
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

std::string flags_of(const Command& command) {
  std::string words;
  for (const Option* option : command.options()) {
    for (const std::string& name : option->long_names()) words += "--" + name + " ";
  }
  return words;
}

std::string command_names(const Command& app) {
  std::string words;
  for (const Command* command : app.subcommands()) words += command->name() + " ";
  return words;
}

std::string model_names() {
  std::string words;
  for (const zoo::Entry& entry : zoo::list()) words += "zoo:" + std::string(entry.name) + " ";
  return words;
}

// zsh reads bash's script through bashcompinit.
void print_bash(const Command& app, bool for_zsh) {
  if (for_zsh) std::printf("#compdef shoal\nautoload -U +X bashcompinit && bashcompinit\n");
  std::printf(
      "_shoal() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\n  case \"${COMP_WORDS[1]}\" "
      "in\n");
  for (const Command* command : app.subcommands()) {
    std::printf("    %s) words=\"%s%s\" ;;\n", command->name().c_str(), flags_of(*command).c_str(),
                model_names().c_str());
  }
  std::printf("  esac\n  [ \"$COMP_CWORD\" = 1 ] && words=\"%s\"\n", command_names(app).c_str());
  std::printf(
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n}\n");
  // A colon is part of a word here: zoo:NAME.
  std::printf("COMP_WORDBREAKS=\"${COMP_WORDBREAKS//:/}\"\ncomplete -F _shoal shoal\n");
}

// In double quotes, fish gives these characters a meaning.
std::string fish_text(const std::string& text) {
  std::string safe;
  for (char c : text)
    safe += (c == '"' || c == '\\' || c == '$') ? std::string{'\\', c} : std::string(1, c);
  return "\"" + safe + "\"";
}

void print_fish(const Command& app) {
  for (const Command* command : app.subcommands()) {
    const std::string name = command->name();
    std::printf("complete -c shoal -n __fish_use_subcommand -a %s -d %s\n", name.c_str(),
                fish_text(command->description()).c_str());
    for (const Option* option : command->options()) {
      for (const std::string& flag : option->long_names()) {
        std::printf("complete -c shoal -n \"__fish_seen_subcommand_from %s\" -l %s -d %s\n",
                    name.c_str(), flag.c_str(), fish_text(option->description()).c_str());
      }
    }
  }
  std::printf("complete -c shoal -a \"%s\"\n", model_names().c_str());
}

}  // namespace

void add_completions(Command& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  Command* command = app.add_subcommand("completions", "Print shell completions");
  command->footer(kExamples);
  command->add_option("shell", *shell, "bash, zsh or fish", one_of({"bash", "zsh", "fish"}))
      ->required();
  command->callback([shell, &app, &action] {
    // Printed while parsing: the action has nothing left to do.
    *shell == "fish" ? print_fish(app) : print_bash(app, *shell == "zsh");
    action = [] { return Outcome{}; };
  });
}

}  // namespace shoal::cli
