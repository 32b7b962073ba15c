#!/usr/bin/python3
"""Compiles sources of targets together: batches.py MOST FOLDER < LINES

Each line is a target and its sources, with semicolons between. Writes files into FOLDER/TARGET that include sources,
MOST at most, and prints a line for each: the target, the file, its sources.

Sources of a batch share one scope, in which the names of their anonymous namespaces would meet: where one declares a
name for itself that another may mean (a name that it declares, or calls, or writes as types and constants are written,
or one of a header that it includes), the batch renames it: a macro stands before the source, and is gone after it.
Headers come first, so that the macro changes only the source. A name that cannot be renamed so (a header or a class has
it, too, or a test is called by it) keeps both sources apart, as do namespaces that one has and the other does not mean.
The same alias in both is no conflict. What a source declares is found by its braces, not by a parser of C++; what is
missed is an error of the compiler, not another program.
"""
import collections
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
NOT_NAMES = {"alignas", "alignof", "catch", "decltype", "explicit", "noexcept", "operator", "requires", "sizeof",
             "static_assert"}
WORD = re.compile(r"[A-Za-z_]\w*")
# Other words are variables and members, which hide what others declare.
MEANT = re.compile(r"(?<![\w.>:~])(?:[A-Za-z_]\w*(?=\s*\(|::)|(?:[A-Z]|k[A-Z])\w*)")
QUALIFIER = re.compile(r"(?<![\w:])(\w+)::")
ALIAS = re.compile(r"(?:using|namespace)\s+(\w+)\s*=\s*(.+)", re.S)
USING = re.compile(r"using\s+([\w:]+::(\w+))")
ALONE = re.compile(r"foreach_target\.h")  # such sources include themselves
# Uses of a name by which it may be another one than the source's own: members, and virtual functions.
MEMBER = re.compile(r"(?:\.|->|::)\s*(\w+)|(\w+)\s*\([^;{}]*\)[^;{}()]*\boverride\b")
# Words of which macros make strings.
QUOTED = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST\w*|INSTANTIATE_\w+|SHOAL_\w+)\s*\(([^()]*)\)")
HOOKS = {"PrintTo", "main"}  # found by others by their names
# The first line that is no include and no comment.
CODE = re.compile(r"^(?![ \t]*(?:#[ \t]*(?:include|pragma)\b|//|$))", re.M)
INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+("[^"]+"|<[^>]+>)', re.M)
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
        if call not in NOT_NAMES and not call.isupper():  # such are macros
            return [call]
    # Constants: a = 1, b = 2.
    return re.findall(r"\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", before) + re.findall(r",\s*(\w+)\s*=", declaration)


def declarations(code):
    """Declarations outside of any function or type: whether each is in an anonymous namespace, the path of its
    namespace, and its text."""
    scopes, text = [], ""  # of a namespace its name, () of an anonymous one, None of other braces
    for part in re.findall(r"[{};]|[^{};]+", code):
        if part not in "{};":
            text += part
            continue
        text = text.strip()
        space = NAMESPACE.fullmatch(text) if part == "{" else None
        if text and not space and None not in scopes:
            yield () in scopes, sum(scopes, ()), text
        if part == "{":
            scopes.append(None if not space else tuple(re.findall(r"\w+", space.group(1) or "")))
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
        self.declared = collections.defaultdict(set)  # by namespace
        for enumerators in ENUMERATORS.findall(code):
            self.own.update(re.findall(r"\w+", enumerators))
        for own, space, declaration in declarations(DIRECTIVES.sub("", code)):
            names = names_of(declaration)
            self.declared[space].update(names)
            if alias := ALIAS.match(declaration):
                self.aliases[alias.group(1)] = alias.group(2).split()
            elif using := USING.fullmatch(declaration):
                self.aliases[using.group(2)] = [using.group(1)]
            if own or re.match(r"(?:static|constexpr|const|using)\b", declaration):
                self.own.update(names)
        self.qualifiers = set(QUALIFIER.findall(code))
        self.meant = set(MEANT.findall(code)).union(*self.declared.values())
        fixed = {name for names in MEMBER.findall(code) for name in names} | HOOKS | self.macros
        fixed.update(word for words in QUOTED.findall(code) for word in WORD.findall(words))
        self.free = self.own - fixed  # what can be renamed
        self.head = [self.absolute(name) for name in INCLUDED.findall(CODE.split(text, maxsplit=1)[0])]

    def absolute(self, name):
        """An include as any other file would write it."""
        path = self.path.parent / name.strip('"')
        return f'"{path}"' if name[0] == '"' and path.is_file() else name


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
        self.file, self.alone, self.own, self.aliases = file, file.alone, file.own, dict(file.aliases)
        headers, waiting, declared = set(), list(file.includes), collections.defaultdict(set)
        while waiting:
            one = waiting.pop()
            if one not in headers:
                headers.add(one)
                waiting += one.includes
                self.aliases = one.aliases | self.aliases
                for space, names in one.declared.items():
                    declared[space] |= names
        self.spaces = {space[:size + 1] for space in (*declared, *file.declared) for size in range(len(space))}
        # What it sees of headers without saying in which namespace.
        visible = set().union(*(names for space, names in declared.items()
                                if any(own[:len(space)] == space for own in file.declared)))
        self.free = file.free - visible - {part for space in declared for part in space}
        self.seen = file.meant | visible & file.words
        # What its headers declare where its own names are, or others' are: these would be ambiguous.
        self.beside = set().union(*(declared[space] for space in file.declared if space in declared))

    def meets(self, other):
        """Names that mean one thing here and may mean another there."""
        met = self.own & (other.seen | other.beside) | other.own & (self.seen | self.beside)
        met |= self.file.macros & other.file.words | other.file.macros & self.file.words
        return {name for name in met if name not in self.aliases or self.aliases[name] != other.aliases.get(name)}

    def means_another_space(self, other):
        """Whether a namespace of the other is nearer than the one that is meant here: shoal::testing than testing."""
        return any(space[-1] in self.file.qualifiers and any(own[:len(space) - 1] == space[:-1] for own in self.spaces)
                   for space in other.spaces - self.spaces)

    def fits(self, other):
        return (self.file.brought == other.file.brought and self.meets(other) <= self.free | other.free
                and not self.means_another_space(other) and not other.means_another_space(self))


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


def text_of(batch):
    lines = [f"#include {name}" for name in dict.fromkeys(name for source in batch for name in source.file.head)]
    for place, source in enumerate(batch):
        met = sorted(set().union(*(source.meets(other) for other in batch if other != source)) & source.free)
        lines += [f"#define {name} {name}_{place}" for name in met]
        lines += [f'#include "{source.path}"']
        lines += [f"#undef {name}" for name in met]
    return "\n".join(lines) + "\n"


def write_batches(target, batches, folder):
    for batch in batches:
        # Two folders of a part, or two parts, may have sources of one name.
        path = folder / target / "_".join(pathlib.Path(batch[0].path).parts[-3:])
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text_of(batch)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # or it would be compiled again
            path.write_text(text, encoding="utf-8")
        print(";".join([target, str(path), *(source.path for source in batch)]))


if __name__ == "__main__":
    for line in sys.stdin:
        name, *paths = filter(None, line.strip().split(";"))
        write_batches(name, batches_of([Source(path) for path in paths], int(sys.argv[1])), pathlib.Path(sys.argv[2]))
