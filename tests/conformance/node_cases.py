#!/usr/bin/python3
"""Writes the ONNX project's node tests (python3-onnx 1.12: 924 cases) as files for a command line.

One folder per case: model.onnx, in_<i>.npy and out_<i>.npy in the order of the graph's inputs and
outputs, and case.json. .npy has no bfloat16: such a tensor is written as the uint16 of its bits and
its name listed under "bfloat16". Sequences, optionals and strings have no .npy form either: no file
is written for them, and "kind" says which it was.

Usage: node_cases.py FOLDER
"""

import hashlib
import json
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

# onnx 1.12 was written for NumPy < 1.24, which still had these aliases of Python's types.
for alias in (float, int, bool, object):
    if alias.__name__ not in vars(np):
        setattr(np, alias.__name__, alias)

import onnx  # noqa: E402
from onnx.backend.test.case import node as onnx_node_tests  # noqa: E402

SEED = 1


def collect_cases():
    """The cases draw their inputs while their modules are imported, so the seed is set before."""
    random.seed(SEED)
    np.random.seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onnx_node_tests.collect_testcases(None)


def op_types(graph):
    """Every operator type in a graph and in the subgraphs of its nodes."""
    found = set()
    for node in graph.node:
        found.add(node.op_type)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= op_types(attribute.g)
    return found


def value_kind(value):
    field = value.type.WhichOneof("value")
    if field != "tensor_type":
        return field.removesuffix("_type")
    is_string = value.type.tensor_type.elem_type == onnx.TensorProto.STRING
    return "string" if is_string else "tensor"


def case_kind(values):
    """The kind hardest to hold decides: an optional may be of a sequence, a sequence of strings."""
    kinds = {value_kind(value) for value in values}
    return next(kind for kind in ("optional", "sequence", "string", "tensor") if kind in kinds)


def random_rule(model, inputs):
    """How to judge a case whose expected values are one draw of many; None where they are exact."""
    ops = op_types(model.graph)
    if "Bernoulli" in ops:
        return {"kind": "bernoulli", "inverted": False}
    # The function body that onnx 1.12 has for Bernoulli compares the wrong way round (random > p):
    # its expanded cases, which are to be run as they stand, answer 1 with probability 1 - p.
    if "RandomUniformLike" in ops:
        return {"kind": "bernoulli", "inverted": True}
    if "Dropout" in ops:  # Whose cases call the ratio r and the training switch t.
        arguments = dict(zip(model.graph.node[0].input, inputs))
        ratio = float(arguments.get("r", 0.5))
        if arguments.get("t", False) and ratio > 0:
            return {"kind": "dropout", "ratio": ratio}
    return None


def save_tensors(folder, prefix, values, arrays):
    for i, (value, array) in enumerate(zip(values, arrays)):
        if value_kind(value) == "tensor":
            np.save(folder / f"{prefix}_{i}.npy", np.asarray(array, order="C"))


def write_case(folder, case, inputs, outputs):
    folder.mkdir()
    graph = case.model.graph
    values = [*graph.input, *graph.output]
    onnx.save(case.model, str(folder / "model.onnx"))
    save_tensors(folder, "in", graph.input, inputs)
    save_tensors(folder, "out", graph.output, outputs)
    bfloat16 = onnx.TensorProto.BFLOAT16
    description = {
        "name": folder.name,
        "kind": case_kind(values),
        "inputs": [value.name for value in graph.input],
        "outputs": [value.name for value in graph.output],
        "bfloat16": [v.name for v in values if v.type.tensor_type.elem_type == bfloat16],
        "op_types": sorted(op_types(graph)),
        "rtol": case.rtol,
        "atol": case.atol,
        "random": random_rule(case.model, inputs),
    }
    (folder / "case.json").write_text(json.dumps(description, indent=1) + "\n")


def write_all(folder):
    """A folder for each data set of each case; two of the names stand for two cases each."""
    uses = Counter()
    for case in collect_cases():
        for inputs, outputs in case.data_sets:
            uses[case.name] += 1
            suffix = "" if uses[case.name] == 1 else f".{uses[case.name]}"
            write_case(folder / f"{case.name}{suffix}", case, inputs, outputs)


def ensure_folder(folder, stamp, write):
    """Calls write(folder) unless the folder has the stamp of an earlier call already."""
    stamp_file = folder / "stamp"
    if stamp_file.exists() and stamp_file.read_text() == stamp:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and moved into place, so that an interrupted or parallel run leaves no half set.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        fresh = Path(scratch) / "cases"
        fresh.mkdir()
        write(fresh)
        (fresh / "stamp").write_text(stamp)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


def ensure_cases(folder):
    """Writes the cases unless FOLDER already holds those of this generator and these packages."""
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    stamp = f"onnx {onnx.__version__} numpy {np.__version__} generator {source}\n"
    ensure_folder(folder, stamp, write_all)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ensure_cases(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
