#!/usr/bin/env python3
"""Makes man pages from what the binary says of itself.

  tools/man_pages.py OUT -- PROGRAM...   writes OUT/shoal.1 and OUT/shoal-COMMAND.1

PROGRAM may have words before it, such as an emulator of another architecture.
"""
import pathlib
import re
import sys

import help_text

MANUAL = "User Commands"


def quoted(text):
    """Text as roff prints it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", text)


def page(name, text, version, others):
    summary, parts = help_text.blocks(text)
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
    said = lambda *words: help_text.said(program, *words)
    out.mkdir(parents=True, exist_ok=True)
    version, top = said("--version").strip(), said("--help")
    commands = help_text.listed(top)
    pages = ["shoal-" + command for command in commands]
    (out / "shoal.1").write_text(page("shoal", top, version, pages))
    for command, name in zip(commands, pages):
        (out / f"{name}.1").write_text(page(name, said(command, "--help"), version, ["shoal"]))
    print(f"{len(pages) + 1} man pages")


if __name__ == "__main__":
    main()
