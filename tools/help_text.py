"""What the binary says of itself, taken apart: for man pages, the pages of docs/reference and the test of examples.

PROGRAM is a list of words: the binary, and an emulator of another architecture before it, if need be.
"""
import dataclasses
import re
import subprocess


def said(program, *words):
    return subprocess.run([*program, *words], capture_output=True, text=True, check=True).stdout


def listed(help_text):
    """The subcommands that a --help page names."""
    block = re.search(r"^Subcommands:\n(.*?)(?:^Examples:|\Z)", help_text, re.M | re.S)  # with headings of groups
    return re.findall(r"^  (\w[\w-]*)", block[1], re.M) if block else []


def blocks(help_text):
    """The summary, and (title, lines) for each part of a --help page."""
    lines = help_text.rstrip().splitlines()
    summary, parts, title = lines[0].strip(), [], None
    for line in lines[1:]:
        usage = re.match(r"Usage: (.*)", line)
        heading = re.match(r"(\w[\w ,.'/()-]*):\s*$", line)
        if usage:
            parts.append(("Synopsis", [usage[1]]))
        elif heading:
            title = heading[1]
            parts.append((title, []))
        elif title is None:
            parts.append(("Description", [line])) if line.strip() else None
        else:
            parts[-1][1].append(line)
    return summary, parts


@dataclasses.dataclass(frozen=True)
class Flag:
    names: str  # "-o,--out"; a positional argument has no hyphens
    value: str  # "TEXT", "0–1024", "sgd,adam"; empty for a switch
    default: str
    meaning: str


KINDS = r"(?:TEXT|FLOAT|INT|UINT|FILE)"


def flag_of(spec, meaning):
    """A flag from what CLI11 prints: '-b,--batch UINT:INT in [1 - 4096]=64 Needs: --data'."""
    names, _, rest = spec.partition(" ")
    names = re.sub(r"\{.*?\}", "", names)
    notes = []
    for word, note in (("Needs", "with"), ("Excludes", "not with")):
        found = re.search(rf"\s*{word}: ((?:-*[\w-]+\s*)+)$|\s*{word}: ((?:--[\w-]+ ?)+)", rest)
        if found:
            rest = rest[:found.start()] + rest[found.end():]
            notes.append(note + " " + ", ".join(f"`{name}`" for name in (found[1] or found[2]).split()))
    env = re.search(r"\s*\(Env:(\w+)\)", rest)
    if env:
        rest = rest.replace(env[0], "")
        notes.append(f"or `${env[1]}`")
    required = "REQUIRED" in rest
    several = "..." in rest
    rest = rest.replace("REQUIRED", "").replace("...", "").strip()
    found = re.match(rf"({KINDS})?\s*(?::(.*?))?(?:=((?![^\[\]]*\]).*))?$", rest)
    kind, limits, default = found[1] or "", found[2] or "", found[3] or ""
    choices = re.match(r"\{(.*)\}$", limits)
    interval = re.match(r"\w+ in \[(\S+) - (\S+)\]$", limits)
    value = choices[1] if choices else f"{interval[1]}–{interval[2]}" if interval else kind
    if limits == "POSITIVE":
        value += ">0"
    elif limits == "NONNEGATIVE":
        value += "≥0"
    if several and value:
        value += "…"
    if notes:
        meaning += f" ({'; '.join(notes)})"
    return Flag(names, value, "required" if required else default, meaning)


COLUMN = 34  # where CLI11 lets meanings begin


def flags(lines):
    """The flags of a part of a --help page."""
    found = []
    for line in lines:
        if re.match(r"  \S", line):
            found.append([line, ""])
        elif line.strip() and found:
            found[-1][1] += (" " if found[-1][1] else "") + line.strip()
    result = []
    for line, meaning in found:
        spec = line
        if not meaning:  # on one line
            spec, meaning = line[:COLUMN], line[COLUMN:]
        result.append(flag_of(spec.strip(), meaning.strip()))
    return result


def examples(help_text):
    """The commands of a --help page, each as one line, without what is said beside or below them."""
    block = re.search(r"^Examples:\n((?:  .*\n?)*)", help_text, re.M)
    found, goes_on = [], False
    for line in block[1].splitlines() if block else []:
        text = line.strip()
        if goes_on:
            found[-1] += " " + text
        elif re.match(r"  (?! )", line):
            found.append(text)
        else:
            continue  # words about the line before
        command = re.match(r"(.*?)(?:\s{2,}[^-\s].*)?$", found[-1])[1]
        goes_on = command.endswith("\\")
        found[-1] = command.removesuffix("\\").strip()
    return found
