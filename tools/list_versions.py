#!/usr/bin/python3
"""Writes which opsets changed each operator of ONNX, and the newest form of each, from the
docs/Changelog.md of the ONNX project. Run it when the reader moves to a newer opset, after reading
what changed: tools/list_versions.py Changelog.md > shoal/model/onnx/opsets/versions.inc
"""
import re
import sys
import textwrap

NEWEST = 27
ANY_NUMBER = 2147483647


def sections(text):
    """(operator, version, text) of every operator of the default domain up to NEWEST."""
    found = list(re.finditer(r'^### <a name="(\w+)-(\d+)"></a>', text, re.M))
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends):
        if int(match[2]) <= NEWEST:
            yield match[1], int(match[2]), text[match.end():end]


def entries(section, heading):
    """The terms that are listed under a heading: (name, what follows it)."""
    part = re.search(rf"^#### {heading}.*?\n(.*?)(?=^#### |\Z)", section, re.M | re.S)
    return re.findall(r"^<dt><tt>(\w+)</tt>(.*)</dt>", part[1], re.M) if part else []


def most_inputs(section):
    inputs = entries(section, "Inputs")
    return ANY_NUMBER if any("variadic" in kind for _, kind in inputs) else len(inputs)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    versions, newest = {}, {}
    for operator, version, section in sections(open(sys.argv[1]).read()):
        versions.setdefault(operator, []).append(version)
        newest[operator] = section
    print(f"// The opsets that defined or changed each operator of ONNX, to opset {NEWEST}, and what its newest\n"
          "// form may have: {operator, {opsets}, most inputs, {attributes}}. Made by tools/list_versions.py.")
    for operator in sorted(versions):
        opsets = ", ".join(str(version) for version in sorted(versions[operator]))
        names = sorted(name for name, _ in entries(newest[operator], "Attributes"))
        attributes = ", ".join(f'"{name}"' for name in names)
        line = f'{{"{operator}", {{{opsets}}}, {most_inputs(newest[operator])}, {{{attributes}}}}},'
        print(textwrap.fill(line, 100, subsequent_indent=" " * 4))


if __name__ == "__main__":
    main()
