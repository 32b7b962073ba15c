#!/usr/bin/env python3
"""Makes docs/measurements/*.md from the data files beside them, one table each.

  tools/measurements.py           write the pages
  tools/measurements.py --check   fail where a page is not what its data files say

A data file names its page, its title, the commands that made it, its columns and rows, and one remark.
A page shows the first commands. `also` has further results, a name and a value each. What only some readers want stays in the file and off
the page: `notes` of one thought each, and `cases`, a longer table with columns and rows of its own. Cells
are short: what needs a sentence is the remark or a note.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "measurements"
MAX_CELL = 100
MAX_REMARK = 400
MAX_COMMANDS = 3  # of a page; the data file has all
PAGES = {
    "engine": "The engine",
    "cluster": "Plans and clusters",
    "reliability": "Reliability",
    "training": "Training",
    "library": "The library and the server",
    "streams": "Streams of images",
}
INTRODUCTION = "How to read these tables: [measurements](README.md)."


def escaped(text):
    return text.replace("|", "\\|")


def checked(name, columns, rows):
    """The rows, each of which must have a short cell for each column."""
    for row in rows:
        if len(row) != len(columns):
            sys.exit(f"{name}: a row of {len(row)} cells, {len(columns)} columns: {row}")
        if any(len(cell) > MAX_CELL for cell in row):
            sys.exit(f"{name}: a cell of more than {MAX_CELL} characters: {row}")
    return rows


def table(name, columns, rows):
    ruler = ["--:" if column["align"] == "right" else "---" for column in columns]
    lines = [[column["name"] for column in columns], ruler, *checked(name, columns, rows)]
    return ["| " + " | ".join(map(escaped, line)) + " |" for line in lines]


def section(name, data):
    if len(data["remark"]) > MAX_REMARK or "\n" in data["remark"]:
        sys.exit(f"{name}: a remark is one line of at most {MAX_REMARK} characters")
    if "cases" in data:
        checked(name, data["cases"]["columns"], data["cases"]["rows"])
    lines = [f"## {data['title']}", ""]
    if "picture" in data:
        lines += [f"![{data['title']}]({data['picture']})", ""]
    lines += [*table(name, data["columns"], data["rows"]), "", data["remark"], ""]
    if "also" in data:
        columns = [{"name": "also measured", "align": "left"}, {"name": "", "align": "left"}]
        lines += [*table(name, columns, data["also"]), ""]
    made = f" at {data['commit']}" if "commit" in data else ""
    commands = data["command"]
    if len(commands) > MAX_COMMANDS:
        commands = [*commands[:MAX_COMMANDS], f"# and {len(commands) - MAX_COMMANDS} more: see the data file"]
    lines += [f"[Data](data/{name}.json), made{made} by:", "", "```sh", *commands, "```", ""]
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
