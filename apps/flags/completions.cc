// Completions for bash, zsh and fish, made from the commands themselves.
#include "apps/flags/completions.h"

namespace shoal::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += word + " ";
  return all;
}

std::string flags_of(const Command& command) {
  std::string words;
  for (const Option* option : command.options()) {
    for (const std::string& name : option->long_names()) words += "--" + name + " ";
  }
  return words;
}

std::string of_bash(const Command& program, const std::string& words) {
  const std::string name = program.name();
  std::string commands;
  std::string text =
      "_" + name +
      "() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\n  case \"${COMP_WORDS[1]}\" in\n";
  for (const Command* command : program.subcommands()) {
    text += "    " + command->name() + ") words=\"" + flags_of(*command) + words + "\" ;;\n";
    commands += command->name() + " ";
  }
  text += "  esac\n  [ \"$COMP_CWORD\" = 1 ] && words=\"" + commands + "\"\n";
  text += "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n}\n";
  // A colon is part of a word here: zoo:NAME.
  return text + "COMP_WORDBREAKS=\"${COMP_WORDBREAKS//:/}\"\ncomplete -F _" + name + " " + name +
         "\n";
}

// In double quotes, fish gives these characters a meaning.
std::string fish_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') safe += '\\';
    safe += c;
  }
  return "\"" + safe + "\"";
}

std::string of_fish(const Command& program, const std::string& words) {
  const std::string complete = "complete -c " + program.name();
  std::string text;
  for (const Command* command : program.subcommands()) {
    const std::string name = command->name();
    text += complete + " -n __fish_use_subcommand -a " + name + " -d " +
            fish_text(command->description()) + "\n";
    for (const Option* option : command->options()) {
      for (const std::string& flag : option->long_names()) {
        text += complete + " -n \"__fish_seen_subcommand_from " + name + "\" -l " + flag + " -d " +
                fish_text(option->description()) + "\n";
      }
    }
  }
  return text + complete + " -a \"" + words + "\"\n";
}

}  // namespace

std::string completions(const Command& program, const std::string& shell,
                        const std::vector<std::string>& words) {
  if (shell == "fish") return of_fish(program, joined(words));
  const std::string bash = of_bash(program, joined(words));
  if (shell == "bash") return bash;
  // zsh reads bash's script.
  return "#compdef " + program.name() + "\nautoload -U +X bashcompinit && bashcompinit\n" + bash;
}

}  // namespace shoal::cli
