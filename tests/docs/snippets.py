#!/usr/bin/env python3
"""Keeps pages true: their code is compiled, and their commands are run.

  snippets.py code PAGE OUT    writes all ```cpp blocks of a page, in order, as one source file, or all
                               ```c blocks where OUT ends with .c
  snippets.py run SHOAL PAGE…  runs every ```sh block of the pages, with SHOAL's folder in the PATH

A block of another language, such as ```text, is left alone. Line numbers are those of the page.
"""
import os
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^(\s*)```(\w*)\s*$")


def blocks(page, language):
    """(number of the first line, text) of each block; a block in a list is indented as the list is."""
    found, lines, indent = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if lines is None and fence:
            lines, indent, wanted, first = [], fence[1], fence[2] == language, number + 1
        elif lines is not None and fence and not fence[2]:
            if wanted:
                found.append((first, "\n".join(lines) + "\n"))
            lines = None
        elif lines is not None:
            lines.append(line.removeprefix(indent))
    if lines is not None:
        sys.exit(f"{page}: the block of line {first} does not end")
    return found


def extract(page, out):
    found = blocks(page, "c" if out.suffix == ".c" else "cpp")
    if not found:
        sys.exit(f"{page}: no code to compile")
    out.write_text("".join(f'#line {first} "{page}"\n{text}' for first, text in found))


def run(shoal, pages):
    folder = str(pathlib.Path(shoal).resolve().parent)
    environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
    root = pathlib.Path(__file__).resolve().parents[2]
    commands = 0
    for page in pages:
        for first, text in blocks(page, "sh"):
            commands += 1
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=root, env=environment,
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{page}:{first}: exit {done.returncode}\n{text}{done.stdout}{done.stderr}")
    print(f"{commands} blocks of commands ran")
    if commands == 0:
        sys.exit("no command was found")


if sys.argv[1:2] == ["code"] and len(sys.argv) == 4:
    extract(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
elif sys.argv[1:2] == ["run"] and len(sys.argv) > 3:
    run(sys.argv[2], [pathlib.Path(p) for p in sys.argv[3:]])
else:
    sys.exit(__doc__)
