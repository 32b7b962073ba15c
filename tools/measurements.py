#!/usr/bin/env python3
"""Makes docs/measurements/*.md from the data files beside them, one table each.

  tools/measurements.py           write the pages
  tools/measurements.py --check   fail where a page is not what its data files say

A data file names its page, its title, the commands that made it, its columns and rows, and notes of
one thought each. Cells are short: what needs a sentence is a note.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "measurements"
MAX_CELL = 100
PAGES = {
    "engine": "The engine",
    "cluster": "Plans and clusters",
    "reliability": "Reliability",
    "training": "Training",
    "library": "The library and its doors",
    "streams": "Streams of images",
}
INTRODUCTION = """Every table comes from a file of [data](data), which names the command that made it.
Machine, unless said otherwise: 2 cores of an AMD EPYC (AVX-512), 24 GiB, Debian 12, g++ 12. Absolute
times of such machines mean nothing the next day; ratios are from one run, interleaved."""


def escaped(text):
    return text.replace("|", "\\|")


def section(name, data):
    columns, rows = data["columns"], data["rows"]
    for row in rows:
        if len(row) != len(columns):
            sys.exit(f"{name}: a row of {len(row)} cells, {len(columns)} columns: {row}")
        if any(len(cell) > MAX_CELL for cell in row):
            sys.exit(f"{name}: a cell of more than {MAX_CELL} characters: {row}")
    ruler = ["--:" if column["align"] == "right" else "---" for column in columns]
    table = [[column["name"] for column in columns], ruler, *rows]
    lines = [f"## {data['title']}", ""]
    if "picture" in data:
        lines += [f"![{data['title']}]({data['picture']})", ""]
    lines += ["| " + " | ".join(map(escaped, row)) + " |" for row in table]
    lines += ["", *(f"* {note}" for note in data["notes"])] if data["notes"] else []
    made = f" at commit {data['commit']}" if "commit" in data else ""
    lines += ["", f"Made by{made}:", "", "```sh", *data["command"], "```", ""]
    return "\n".join(lines)


def pages():
    found = {name: [] for name in PAGES}
    for file in sorted((ROOT / "data").glob("*.json")):
        data = json.loads(file.read_text())
        found[data["page"]].append((data.get("order", 50), data["title"], section(file.stem, data)))
    for name, title in PAGES.items():
        if found[name]:
            text = "\n".join(text for _, _, text in sorted(found[name]))
            yield ROOT / f"{name}.md", f"# Measured: {title}\n\n{INTRODUCTION}\n\n{text}"


def main():
    stale = [page for page, text in pages() if not page.exists() or page.read_text() != text]
    if "--check" in sys.argv:
        for page in stale:
            print(f"{page.relative_to(ROOT.parent.parent)} is stale: run tools/measurements.py")
        sys.exit(bool(stale))
    for page, text in pages():
        page.write_text(text)


if __name__ == "__main__":
    main()
