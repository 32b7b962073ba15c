#!/usr/bin/env python3
"""Every link of a page leads somewhere, every file that a page or a comment names exists, and every work that
they cite, such as [Han 2016], is in docs/references.md.

A file may be named by the end of its path: "requests.h", "cluster/requests.h".
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"(?<![\w./<>*{}$@%:-])(?:[\w.-]+/)*[\w-]+\.(?:h|cc|md|inc|proto|sh)(?![\w*/({<])")
CITED = re.compile(r"\[([A-Z]\w+ (?:19|20)\d\d[a-z]?)(?:, [\d.]+)?\]")
REFERENCES = (ROOT / "docs" / "references.md").read_text()
COMMENT = re.compile(r"(?://|/\*|^ \*|#(?!include)|\"\"\").*")
# Files of other programs, of users in examples, or that a build makes.
ELSEWHERE = re.compile(r"^(?:m|x|y)\.|\.pb\.h$|^jpeglib\.h$|^onnx\.proto$|^count\.cc$")


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return listed.stdout.split()


def missing_in(page, text, files, folders):
    """(line number, name) of each link or file that is not there."""
    is_page = page.suffix == ".md"
    for number, line in enumerate(text.splitlines(), 1):
        if is_page:
            for link in LINK.findall(line):
                at = os.path.normpath(page.parent / link)
                if at not in files and at not in folders:
                    yield number, link
        part = line if is_page else " ".join(COMMENT.findall(line))
        yield from ((number, f"{key} in docs/references.md") for key in CITED.findall(part) if key not in REFERENCES)
        for name in FILE.findall(part):
            end = "/" + name.removeprefix("./").lstrip("./")
            if not ELSEWHERE.search(name) and not any(("/" + file).endswith(end) for file in files):
                yield number, name


def main():
    files = set(tracked())
    folders = {str(parent) for file in files for parent in pathlib.Path(file).parents}
    wrong = 0
    for file in sorted(files):
        path = pathlib.Path(file)
        if path.suffix not in (".md", ".h", ".cc", ".c", ".py", ".cmake") and path.name != "CMakeLists.txt":
            continue
        for number, name in missing_in(path, (ROOT / path).read_text(), files, folders):
            print(f"{file}:{number}: there is no {name}")
            wrong += 1
    print("paths ok" if wrong == 0 else f"{wrong} names of files that do not exist")
    sys.exit(1 if wrong else 0)


main()
