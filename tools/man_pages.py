#!/usr/bin/env python3
"""Makes man pages from what the binary says of itself.

  tools/man_pages.py OUT -- PROGRAM...   writes OUT/shoal.1 and OUT/shoal-COMMAND.1

PROGRAM may have words before it, such as an emulator of another architecture.
"""
import pathlib
import re
import subprocess
import sys

MANUAL = "User Commands"


def quoted(text):
    """Text as roff prints it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", text)


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


def page(name, help_text, version, others):
    summary, parts = blocks(help_text)
    out = [f'.TH {quoted(name.upper())} 1 "" "{quoted(version)}" "{MANUAL}"',
           ".nh", ".SH NAME", f"{quoted(name)} \\- {quoted(summary.rstrip('.'))}"]
    for title, lines in parts:
        while lines and not lines[-1].strip():
            lines.pop()
        while lines and not lines[0].strip():
            lines.pop(0)
        out += [f".SH {quoted(title.upper())}"]
        out += [quoted(lines[0])] if title == "Synopsis" else [".nf", *map(quoted, lines), ".fi"]
    out += [".SH SEE ALSO", ", ".join(f"\\fB{quoted(other)}\\fR(1)" for other in others)]
    return "\n".join(out) + "\n"


def main():
    split = sys.argv.index("--")
    out, program = pathlib.Path(sys.argv[1]), sys.argv[split + 1:]
    said = lambda *words: subprocess.run([*program, *words], capture_output=True, text=True, check=True).stdout
    out.mkdir(parents=True, exist_ok=True)
    version, top = said("--version").strip(), said("--help")
    listed = top.split("\nSubcommands:\n")[1].split("\nExamples:\n")[0]
    commands = re.findall(r"^  (\w[\w-]*)", listed, re.M)
    pages = ["shoal-" + command for command in commands]
    (out / "shoal.1").write_text(page("shoal", top, version, pages))
    for command, name in zip(commands, pages):
        (out / f"{name}.1").write_text(page(name, said(command, "--help"), version, ["shoal"]))
    print(f"{len(pages) + 1} man pages")


if __name__ == "__main__":
    main()
