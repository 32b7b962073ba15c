#!/usr/bin/python3
"""Which sources of a target can be compiled as one: batches.py MOST SOURCE...

Prints a line of paths for each batch of two or more. Sources of a batch share one scope, in which the names of their
anonymous namespaces would meet: so no two are put together of which one declares a name for itself, or a macro, that
the other may mean: a name that it declares, or calls, or writes as types and constants are written; or one that a
header of its folder has so, or that any header declares which it includes. The same alias in both is no conflict. What
a source declares is found by its braces, not by a parser of C++; what is missed is an error of the compiler, not
another program.
"""
import functools
import pathlib
import re
import sys

LITERALS = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')
DIRECTIVES = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
ENUMERATORS = re.compile(r"\benum\s+(?!class)[^{;]*\{([^}]*)\}")
ROOT = pathlib.Path(__file__).resolve().parent.parent
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace(\s+[\w:]+)?")
TYPE = re.compile(r"(?:template\s*<[^{]*>\s*)?(?:struct|class|union|enum(?:\s+class)?)\s+(\w+)")
NOT_NAMES = {"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "INSTANTIATE_TEST_SUITE_P", "alignas", "decltype", "operator"}
WORD = re.compile(r"[A-Za-z_]\w*")
# Other words are variables and members, which hide what others declare.
MEANT = re.compile(r"(?<![\w.>:~])(?:[A-Za-z_]\w*(?=\s*\(|::)|(?:[A-Z]|k[A-Z])\w*)")
ALIAS = re.compile(r"(?:using|namespace)\s+(\w+)\s*=\s*(.+)", re.S)
ALONE = re.compile(r"foreach_target\.h")  # such sources include themselves
# Namespaces whose names a source sees. Those of literals have none that others could have.
BROUGHT = re.compile(r"^\s*using namespace (?!std::chrono_literals)([\w:]+)", re.M)


def names_of(declaration):
    """The names that a declaration declares."""
    if declaration.startswith("using namespace"):
        return []
    if match := TYPE.match(declaration) or ALIAS.match(declaration):
        return [match.group(1)]
    before = declaration.split("=")[0]
    for call in re.findall(r"(\w+)\s*\(", before):
        if call not in NOT_NAMES:
            return [call]
    # Constants: a = 1, b = 2.
    return re.findall(r"\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", before) + re.findall(r",\s*(\w+)\s*=", declaration)


def declarations(code):
    """Declarations outside of any function or type: whether each is in an anonymous namespace, and its text."""
    scopes, text = [], ""
    for part in re.findall(r"[{};]|[^{};]+", code):
        if part not in "{};":
            text += part
            continue
        text = text.strip()
        space = NAMESPACE.fullmatch(text) if part == "{" else None
        if text and not space and "block" not in scopes:
            yield "own" in scopes, text
        if part == "{":
            scopes.append(("shared" if space.group(1) else "own") if space else "block")
        elif part == "}" and scopes:
            scopes.pop()
        text = ""


class File:
    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        code = LITERALS.sub(" ", text)
        self.path = path
        self.alone = bool(ALONE.search(text))
        self.words = set(WORD.findall(code))
        self.includes = [found for name in INCLUDE.findall(text) if (found := header(path.parent, name))]
        self.brought = set(BROUGHT.findall(code))
        self.aliases = {}
        self.macros = set(MACRO.findall(code))
        self.own = set(self.macros)  # what no other source sees
        self.declared = set(self.own)
        for enumerators in ENUMERATORS.findall(code):
            self.own.update(re.findall(r"\w+", enumerators))
        for own, declaration in declarations(DIRECTIVES.sub("", code)):
            names = names_of(declaration)
            self.declared.update(names)
            if alias := ALIAS.match(declaration):
                self.aliases[alias.group(1)] = alias.group(2).split()
            if own or re.match(r"(?:static|constexpr|const|using)\b", declaration):
                self.own.update(names)
        self.meant = set(MEANT.findall(code)) | self.declared


@functools.cache
def header(folder, name):
    """The header that a file of the folder means, or None: one that is not of this project."""
    path = next((path for path in (folder / name, ROOT / name) if path.is_file()), None)
    return path and file_at(path)


@functools.cache
def file_at(path):
    return File(path)


class Source:
    def __init__(self, path):
        self.path = path
        file = file_at(pathlib.Path(path))
        self.file, self.alone, self.own = file, file.alone, file.own
        self.seen, self.aliases = set(file.meant), dict(file.aliases)
        headers, waiting = set(), list(file.includes)
        while waiting:
            one = waiting.pop()
            if one not in headers:
                headers.add(one)
                waiting += one.includes
                self.aliases = one.aliases | self.aliases
                self.seen |= one.meant if one.path.parent == file.path.parent else one.declared

    def fits(self, other):
        met = self.own & other.seen | other.own & self.seen
        met |= self.file.macros & other.file.words | other.file.macros & self.file.words
        return self.file.brought == other.file.brought and all(
            name in self.aliases and self.aliases[name] == other.aliases.get(name) for name in met)


def batches_of(sources, most):
    batches = []
    for source in sources:
        if source.alone:
            continue
        batch = next((b for b in batches if len(b) < most and all(map(source.fits, b))), None)
        if batch is None:
            batches.append([source])
        else:
            batch.append(source)
    return [batch for batch in batches if len(batch) > 1]


if __name__ == "__main__":
    for batch in batches_of([Source(path) for path in sys.argv[2:]], int(sys.argv[1])):
        print(";".join(source.path for source in batch))
