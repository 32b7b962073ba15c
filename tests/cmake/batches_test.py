#!/usr/bin/python3
"""Which sources cmake/batches.py puts together, and that a compiler takes what it writes."""
import pathlib
import subprocess
import sys
import tempfile

BATCHES = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "batches.py"
HEADER = "#pragma once\nnamespace room {\nint shown(int x);\nstruct Kept { int size() const; };\n}\n"


def source(text):
    return f'#include "room.h"\n#include <vector>\nnamespace room {{\n{text}\n}}\n'


def batches_of(texts, most=12):
    """The batches that sources of these texts become, as lists of places, and what the compiler says of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "room.h").write_text(HEADER)
        paths = [folder / f"{i}.cc" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(source(text))
        line = ";".join(["target", *map(str, paths)]) + "\n"
        done = subprocess.run([sys.executable, BATCHES, str(most), str(folder / "out")], input=line, text=True,
                              capture_output=True, check=True)
        batches, errors = [], ""
        for answer in done.stdout.splitlines():
            _, file, *together = answer.split(";")
            batches.append([int(pathlib.Path(path).stem) for path in together])
            errors += subprocess.run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", file],
                                     capture_output=True, text=True).stderr
        return batches, errors


def files_of_folders(*folders):
    """The files that batches of one target get, whose sources have the same names in all folders."""
    with tempfile.TemporaryDirectory() as name:
        paths = [pathlib.Path(name) / folder / f"{one}.cc" for folder in folders for one in "ab"]
        for place, path in enumerate(paths):
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(f"int user_{place}() {{ return 0; }}\n")
        line = ";".join(["target", *map(str, paths)]) + "\n"
        done = subprocess.run([sys.executable, BATCHES, "2", name], input=line, text=True, capture_output=True, check=True)
        return [answer.split(";")[1] for answer in done.stdout.splitlines()]


def own(name, use=""):
    return f"namespace {{\nint {name}(int x) {{ return x; }}\n}}\nint user_of_{name}{use} {{ return {name}(1); }}"


def expect(what, texts, wanted, most=12):
    batches, errors = batches_of(texts, most)
    assert batches == wanted and not errors, f"{what}: {batches} for {wanted}\n{errors}"


two = [own("f", "_0()"), own("f", "_1()")]
expect("names that meet are renamed", two, [[0, 1]])
constant = "namespace {{ struct S {{ int {0} = 1; }}; constexpr S k; }}\nint user{0}() {{ return k.{0}; }}"
expect("so are types and constants", [constant.format("a"), constant.format("b")], [[0, 1]])
expect("no more than asked for", [own("f", f"_{i}()") for i in range(5)], [[0, 1], [2, 3]], most=2)
# `size` is a member of what the header declares, so that a macro would change other uses of the word.
member = ("namespace {{ int size(const Kept& x) {{ return x.size(); }} }}\n"
          "int user{0}(const Kept& x) {{ return size(x); }}")
expect("members keep sources apart", [member.format(0), member.format(1)], [])
header = ("namespace {{ int shown(const Kept&) {{ return 1; }} }}\n"
          "int user{0}(const Kept& x) {{ return shown(x) + shown(1); }}")
expect("functions of headers do", [header.format(0), header.format(1)], [])
alias = "using size_type = std::vector<char>::size_type;\nsize_type user{0}() {{ return 0; }}"
expect("the same alias does not", [alias.format(0), alias.format(1)], [[0, 1]])
near = ["namespace inner { int g() { return 0; } }\nint user0() { return inner::g(); }",
        "}\nnamespace inner { inline int h() { return 1; } }\nnamespace room {\nint user1() { return inner::h(); }"]
expect("nor may a namespace be nearer than the one that is meant", near, [])
guarded = ("namespace {{ char bytes{0}[sizeof(int)]; int guarded{0}() try {{ return 0; }} catch (const int& x) {{ return x; }} }}\n"
           "int user{0}() {{ return guarded{0}() + bytes{0}[0]; }}")
expect("keywords are no names", [guarded.format(0), guarded.format(1)], [[0, 1]])
expect("sources that include themselves stay alone", ["#define A <hwy/foreach_target.h>", *two], [[1, 2]])
files = files_of_folders("net/tls", "net/link", "cluster/tls")
assert len(files) == len(set(files)) == 3, f"batches of sources with one name are one file: {files}"
print("batches: all as wanted")
