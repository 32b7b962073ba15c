#!/usr/bin/python3
"""Writes node vectors that the ONNX project publishes as files in the form of node_cases.py.

The archive has a folder a case: model.onnx and test_data_set_0/{input,output}_N.pb. Element types
of fewer than 8 bits and 8-bit floats are written as the type that Shoal holds them in: 8-bit and
4-bit floats as float16, float8e8m0 as float32, 4-bit and 2-bit integers as int8 and uint8.

Usage: vector_cases.py ARCHIVE FOLDER
"""

import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import node_cases
import numpy as np
import onnx
from onnx import numpy_helper

RTOL, ATOL = 1e-3, 1e-7  # of the ONNX project's own runner

# Answers that were computed in float32 and are off by as much, where the true answer is 0.
INEXACT = {"test_dft_inverse": 1e-5, "test_dft_inverse_opset19": 1e-5}

# ONNX's number of the type: exponent bits, mantissa bits, bias, what has no number.
FLOATS = {
    17: (4, 3, 7, "nan at the top"),
    18: (4, 3, 8, "nan as -0"),
    19: (5, 2, 15, "as IEEE"),
    20: (5, 2, 16, "nan as -0"),
    23: (2, 1, 1, "nothing"),
}
E8M0 = 24
INTEGERS = {21: (4, np.uint8), 22: (4, np.int8), 25: (2, np.uint8), 26: (2, np.int8)}


def value_of_float(code, exponent_bits, mantissa_bits, bias, without_number):
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) & 1 else 1.0
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    top = (1 << exponent_bits) - 1
    if without_number == "as IEEE" and exponent == top:
        return sign * np.inf if mantissa == 0 else np.nan
    if without_number == "nan at the top" and exponent == top and mantissa + 1 == 1 << mantissa_bits:
        return np.nan
    if without_number == "nan as -0" and sign < 0 and exponent == mantissa == 0:
        return np.nan
    fraction = mantissa / (1 << mantissa_bits) + (1 if exponent else 0)
    return sign * fraction * 2.0 ** (max(exponent, 1) - bias)


def unpacked(data, bits):
    """The elements of a byte, the lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (data[:, None] >> shifts & (1 << bits) - 1).reshape(-1)


def bytes_of(tensor):
    if tensor.HasField("raw_data"):
        return np.frombuffer(tensor.raw_data, np.uint8)
    return np.array(tensor.int32_data, np.int64).astype(np.uint8)


def array_of(tensor):
    shape, number = tuple(tensor.dims), tensor.data_type
    count = int(np.prod(shape, dtype=np.int64))
    if number == onnx.TensorProto.BFLOAT16:
        raw = tensor.raw_data or np.array(tensor.int32_data, np.uint16).tobytes()
        return np.frombuffer(raw, np.uint16).reshape(shape)
    if number == E8M0:
        codes = bytes_of(tensor).astype(np.int64)
        values = np.where(codes == 255, np.nan, 2.0 ** (codes - 127.0))
        return values.astype(np.float32).reshape(shape)
    if number in FLOATS:
        bits = 1 + sum(FLOATS[number][:2])
        codes = bytes_of(tensor) if bits == 8 else unpacked(bytes_of(tensor), bits)
        table = np.array([value_of_float(code, *FLOATS[number]) for code in range(1 << bits)])
        return table[codes[:count]].astype(np.float16).reshape(shape)
    if number in INTEGERS:
        bits, dtype = INTEGERS[number]
        codes = unpacked(bytes_of(tensor), bits)[:count].astype(dtype)
        if dtype is np.int8:
            codes = np.where(codes >= 1 << bits - 1, codes - (1 << bits), codes).astype(dtype)
        return codes.reshape(shape)
    return numpy_helper.to_array(tensor)


def read_arrays(folder, prefix, values):
    """The arrays of a case; None for a value that is not a tensor of numbers."""
    arrays = []
    for i, value in enumerate(values):
        file = folder / f"{prefix}_{i}.pb"
        if node_cases.value_kind(value) != "tensor" or not file.exists():
            arrays.append(None)
            continue
        arrays.append(array_of(onnx.TensorProto.FromString(file.read_bytes())))
    return arrays


def write_case(source, folder):
    folder.mkdir()
    shutil.copy(source / "model.onnx", folder)
    model = onnx.ModelProto.FromString((source / "model.onnx").read_bytes())
    graph, data = model.graph, source / "test_data_set_0"
    values = [*graph.input, *graph.output]
    inputs = read_arrays(data, "input", graph.input)
    outputs = read_arrays(data, "output", graph.output)
    for prefix, arrays in (("in", inputs), ("out", outputs)):
        for i, array in enumerate(arrays):
            if array is not None:
                np.save(folder / f"{prefix}_{i}.npy", np.asarray(array, order="C"))
    bfloat16 = onnx.TensorProto.BFLOAT16
    description = {
        "name": source.name,
        "kind": node_cases.case_kind(values),
        "inputs": [value.name for value in graph.input],
        "outputs": [value.name for value in graph.output],
        "bfloat16": [v.name for v in values if v.type.tensor_type.elem_type == bfloat16],
        "op_types": sorted(node_cases.op_types(graph)),
        "rtol": RTOL,
        "atol": INEXACT.get(source.name, ATOL),
        "random": node_cases.random_rule(model, inputs),
    }
    (folder / "case.json").write_text(json.dumps(description, indent=1) + "\n")


def write_all(archive, folder):
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(archive) as files:
            files.extractall(scratch)
        for model in sorted(Path(scratch).glob("*/model.onnx")):
            write_case(model.parent, folder / model.parent.name)


def ensure_vectors(archive, folder):
    """Writes the cases unless FOLDER already holds those of this archive and this code."""
    digest = hashlib.sha256(archive.read_bytes())
    digest.update(Path(__file__).read_bytes() + Path(node_cases.__file__).read_bytes())
    node_cases.ensure_folder(folder, digest.hexdigest() + "\n", lambda to: write_all(archive, to))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ensure_vectors(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
