#!/usr/bin/env python3
"""Writes the flags of every command, from --help, into its page in docs/reference/commands.

  tools/command_pages.py BINARY            writes what stands between the markers of each page
  tools/command_pages.py BINARY --check    fails where a page is missing or too many, or its flags are others

The rest of a page is written by hand. Flags that several commands have with the same meaning stand in
shared.md, in groups to which the pages link.
"""
import collections
import os
import pathlib
import sys

import help_text

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs/reference/commands"
SHARED = "shared"
BEGIN, END = "<!-- flags: made by tools/command_pages.py -->", "<!-- end of flags -->"
LONGEST = 200  # characters of a cell
WORDS = ("Synopsis", "Description", "Examples", "Subcommands", "Positionals")
FEWEST = 3  # commands that have a flag before it is a shared one
# Names of groups for flags that --help lists under "Options".
GROUPS = {
    "Running a model": "--threads --pin --share --packed-cache --instructions --kernel --optimize,--no-optimize",
    "Kernels": "--tune --memory",
    "Plans for a cluster": "--exclusive --wire --error --survive --wait --objective --split --fuse --exclude --verify",
    "Devices that need not be there": "--workers --link",
    "Data": "--data --format --limit --hold-out --damaged --loaders",
    "Training": "--epochs --batch --seed",
}
GROUP_OF = {flag: group for group, flags in GROUPS.items() for flag in flags.split()}
ENVIRONMENT = {"HOME": "/home/you"}  # which some defaults begin with


def parts_of(program, *words):
    """(heading, flags) of a command; its arguments are those of the first."""
    _, parts = help_text.blocks(help_text.said(program, *words, "--help"))
    flags = [flag for title, lines in parts if title == "Positionals" for flag in help_text.flags(lines)]
    found = [("Options", flags)] if flags else []
    found += [(title, help_text.flags(lines)) for title, lines in parts if title not in WORDS]
    return [(title, [flag for flag in flags if flag.names != "-h,--help"]) for title, flags in found]


def read_commands(program):
    """For each command, (subcommand or "", its parts)."""
    commands = {}
    for command in help_text.listed(help_text.said(program, "--help")):
        below = help_text.listed(help_text.said(program, command, "--help"))
        words = [(command, name) for name in below] or [(command,)]
        commands[command] = [(" ".join(w[1:]), parts_of(program, *w)) for w in words]
    return commands


def group_of(flag, title):
    if title == "Options":
        if flag.names in ("--tune", "--memory") and (flag.default == "off" or "training" in flag.meaning):
            return "Training"
        if flag.names == "--device" and flag.default == "pi4":
            return "Devices that need not be there"
        return GROUP_OF.get(flag.names, "Common")
    return title


def shared_flags(commands):
    """Flags of several commands, with the names of their groups."""
    users, found = collections.defaultdict(set), {}
    for command, variants in commands.items():
        for _, parts in variants:
            for title, flags in parts:
                for flag in flags:
                    users[flag].add(command)
                    found.setdefault(flag, group_of(flag, title))
    required_data = lambda flag: flag.names in ("--data", "--format") and flag.default == "required"
    groups = {flag: group for flag, group in found.items()
              if len(users[flag]) >= FEWEST and flag.names.startswith("-") and not required_data(flag)}
    sizes = collections.Counter(groups.values())
    return {flag: group if sizes[group] > 1 else "Common" for flag, group in groups.items()}


def short(text):
    if text.startswith("What computes: "):
        return f"What computes: [one of these]({SHARED}.md#devices)"
    if len(text) <= LONGEST - 20:
        return text
    return text[:min(text.find(mark) % (LONGEST - 40) for mark in ":;,")].strip() + " (all in `--help`)"


def table(flags):
    """Without spaces around cells: nobody edits it."""
    rows = ["|flag|value|default|meaning|", "|---|---|---|---|"]
    for flag in flags:
        names = ", ".join(f"`{name}`" for name in flag.names.split(","))
        choices = "," in flag.value
        value = flag.value.replace("|", "\\|") if len(flag.value) <= LONGEST else "one of a list"
        value = value.replace(",", ", ") if choices else value
        default = flag.default.replace(ENVIRONMENT["HOME"], "~")
        meaning = short(flag.meaning).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
        rows.append(f"|{names}|{value}|{default}|{meaning}|")
    return rows


def anchor(group):
    return group.lower().replace(",", "").replace(" ", "-")


def references(flags, groups):
    """Names the groups of shared flags, and says what a command has or has not of them."""
    lines = []
    whole = collections.defaultdict(list)
    for flag, group in groups.items():
        whole[group].append(flag)
    for group, members in whole.items():
        here = [flag for flag in members if flag in flags]
        if not here:
            continue
        link = f"[{group}]({SHARED}.md#{anchor(group)})"
        missing = [flag for flag in members if flag not in flags]
        named = lambda some: ", ".join(f"`{flag.names}`" for flag in some)
        if not missing:
            lines.append(link)
        elif len(missing) < len(here):
            lines.append(f"{link} without {named(missing)}")
        else:
            lines.append(f"{named(here)} of {link}")
    return "Shared: " + "; ".join(lines) + "." if lines else ""


def generated(variants, groups):
    all_flags = {name: [flag for _, of in parts for flag in of] for name, parts in variants}
    common = [flag for flag in dict.fromkeys(sum(all_flags.values(), [])) if flag not in groups
              and len(variants) > 1 and all(flag in flags for flags in all_flags.values())]
    lines = ["All of them:", "", *table(common), ""] if common else []
    said = set(common)
    for name, flags in all_flags.items():
        own = [flag for flag in flags if flag not in groups and flag not in said]
        also = [flag for flag in flags if flag in said and flag not in common]
        if name:
            lines += [f"**{name}**" + ("" if own or set(flags) - set(common) else ": no more"), ""]
        if own:
            lines += [*table(own), ""]
        more = ["As above: " + ", ".join(f"`{flag.names}`" for flag in also) + "."] if also else []
        more += [line for line in [references(flags, groups)] if line]
        if more:
            lines += [" ".join(more), ""]
        said.update(own)
    return lines


def generated_shared(groups):
    lines = []
    for group in dict.fromkeys(groups.values()):
        lines += [f"## {group}", "", *table([flag for flag, of in groups.items() if of == group]), ""]
    return lines


def with_flags(text, lines):
    """The page with these lines between its markers, or None without markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        return None
    before, rest = text.split(BEGIN)
    return before + "\n".join([BEGIN, "", *lines, END]) + rest.split(END)[1]


def main():
    check = "--check" in sys.argv[2:]
    os.environ.pop("XDG_CONFIG_HOME", None)
    os.environ.pop("SHOAL_CLUSTER_DIR", None)
    os.environ.update(ENVIRONMENT)
    commands = read_commands([sys.argv[1]])
    groups = shared_flags(commands)
    wanted = {command: generated(variants, groups) for command, variants in commands.items()}
    wanted[SHARED] = generated_shared(groups)
    wrong = [f"{page.name}: there is no such command" for page in FOLDER.glob("*.md") if page.stem not in wanted]
    for name, lines in wanted.items():
        page = FOLDER / f"{name}.md"
        text = page.read_text() if page.exists() else ""
        made = with_flags(text, lines)
        if made is None:
            wrong.append(f"{page.name}: is missing, or has no markers for flags")
        elif made != text and check:
            wrong.append(f"{page.name}: its flags are not those of --help; run tools/command_pages.py")
        elif made != text:
            page.write_text(made)
    print("\n".join(wrong) or f"{len(wanted)} pages of commands")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
