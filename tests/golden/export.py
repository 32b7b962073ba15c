#!/usr/bin/python3
"""Holds what Shoal writes to what ONNX says of it.

Of every model: python3-onnx's checker accepts it with full shape inference, every value has a
shape, weights begin at multiples of 64 bytes, writing what was read changes no byte, and ONNX
Runtime gives the same answers before and after Shoal's passes, whose operators of our own are
written as ONNX ones.

Usage: export.py SHOAL [MODEL.onnx | zoo:NAME ...]
Without models, it takes those of the zoo that are small, one of each kind.
"""

import sys
import tempfile
from pathlib import Path

import onnx
from compare_ort import MAX_ERROR, ORT, answers, random_inputs, relative_error, report
from setting import call, ort_is_here

MODELS = "zoo:digits zoo:lenet5 zoo:squeezenet zoo:mobilenetv2 zoo:encoder zoo:seq2seq".split()
ALIGNMENT = 64
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MODEL_GRAPH, GRAPH_INITIALIZER, TENSOR_RAW_DATA = 7, 5, 9  # Fields in onnx.proto.


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def spans(data, begin, end, wanted):
    """Where the payloads of one field of a message lie: python3-onnx does not tell."""
    at = begin
    while at < end:
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            _, at = read_varint(data, at)
        elif kind == BYTES:
            size, at = read_varint(data, at)
            if tag >> 3 == wanted:
                yield at, at + size
            at += size
        else:
            at += {FIXED64: 8, FIXED32: 4}[kind]


def misaligned(path):
    data = path.read_bytes()
    return [
        raw
        for graph in spans(data, 0, len(data), MODEL_GRAPH)
        for tensor in spans(data, *graph, GRAPH_INITIALIZER)
        for raw, _ in spans(data, *tensor, TENSOR_RAW_DATA)
        if raw % ALIGNMENT != 0
    ]


def check(name, what, path):
    model = onnx.load(str(path))
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return report(name, what, str(error).splitlines()[0], False)
    graph = model.graph
    told = {value.name for value in [*graph.value_info, *graph.output]}
    untold = [value for node in graph.node for value in node.output if value not in told]
    wrong = len(untold) + len(misaligned(path))
    return report(name, what, f"{wrong} faults", wrong == 0)


def examine(shoal, name, folder):
    first, second, optimized = (folder / file for file in ("1.onnx", "2.onnx", "optimized.onnx"))
    call([shoal, "convert", name, "-o", first])
    call([shoal, "convert", first, "-o", second])
    call([shoal, "convert", name, "--optimize", "-o", optimized])
    same = first.read_bytes() == second.read_bytes()
    verdicts = [
        check(name, "as read", first),
        check(name, "optimized", optimized),
        report(name, "written again", "same bytes" if same else "other bytes", same),
    ]
    if ort_is_here():
        inputs = random_inputs(onnx.load(str(first)).graph, pixels=False)
        after = answers(ORT, optimized, inputs, folder)
        for output, expected in answers(ORT, first, inputs, folder).items():
            error = relative_error(after.get(output), expected)
            verdicts.append(report(name, output, f"{error:.2e} of max|y|", error <= MAX_ERROR))
    return all(verdicts)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    shoal, *models = sys.argv[1:]
    if not ort_is_here():
        print("ONNX Runtime is not installed: no answers are compared")
    verdicts = []
    for name in models or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            verdicts.append(examine(shoal, name, Path(folder)))
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
