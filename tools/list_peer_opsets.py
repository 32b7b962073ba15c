#!/usr/bin/python3
"""Writes which opsets of each operator ONNX Runtime has a CPU kernel for, from the
docs/OperatorKernels.md of its project. Run it for a newer version of it, which kPeer names:
tools/list_peer_opsets.py OperatorKernels.md > shoal/report/pages/peer_opsets.inc
"""
import re
import sys


def rows(text):
    """(operator, opsets) of ONNX's own operators in the table of the CPU provider."""
    start = text.index("## Operators implemented by CPUExecutionProvider")
    part = text[start:].split("|**Operator Domain:**")[1]
    name = None
    for line in part.splitlines():
        cells = line.split("|")
        if len(cells) < 5 or not cells[3]:
            continue
        name = cells[1] or name
        yield name, cells[3]


def bounds(opsets):
    numbers = [int(number) for number in re.findall(r"\d+", opsets)]
    return numbers[0], None if opsets.endswith("+") else numbers[-1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = {}
    for name, opsets in rows(open(sys.argv[1]).read()):
        found.setdefault(name, []).append(bounds(opsets))
    print("// {operator, first opset, last opset or 0 for all later ones}: where ONNX Runtime has a CPU\n"
          "// kernel. Made by tools/list_peer_opsets.py.")
    for name in sorted(found):
        first = min(first for first, _ in found[name])
        lasts = [last for _, last in found[name]]
        print(f'{{"{name}", {first}, {0 if None in lasts else max(lasts)}}},')


if __name__ == "__main__":
    main()
