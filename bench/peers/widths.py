#!/usr/bin/python3
"""Chains of equal convolutions of every width, in turns: what does one channel more cost?

bench/peers/widths.py build/release/shoal build/release/bench/bench_peak [--kernel 3] [--widths 8-64]

Prints a table, and one JSON line: the worst of all pairs in which the narrower chain takes longer
than the wider one, and what 33 channels take beside 32. Widths are tuned afresh, one by one.
"""
import argparse
import contextlib
import json
import os
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engines import Peak, Racer


def write_chain(width, flags, folder):
    """Layers of Conv and Relu between images of the same number of channels."""
    rng = np.random.default_rng(width)
    scale = (width * flags.kernel**2) ** -0.5
    nodes, weights = [], []
    for i in range(flags.layers):
        w = rng.standard_normal((width, width, flags.kernel, flags.kernel)) * scale
        weights.append(numpy_helper.from_array(w.astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"c{i}"], pads=[flags.kernel // 2] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"x{i + 1}"]))
    shape = [1, width, flags.size, flags.size]
    image = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "chain", [image("x0")], [image(f"x{flags.layers}")], weights)
    file = pathlib.Path(folder) / f"{width}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), file)
    return file


def measure(flags, widths, folder):
    """The least p10 of each width, in ms, and the peak of one thread."""
    peak = Peak(flags.peak, 1)
    with contextlib.ExitStack() as stack:
        racers = {}
        for width in widths:
            model = write_chain(width, flags, folder)
            racers[width] = stack.enter_context(Racer([flags.shoal], model, 1, "--json"))
        for _ in range(flags.rounds):
            peak.measure()
            for racer in racers.values():
                racer.turn(flags.seconds)
        return {w: min(turn["p10_ms"] for turn in r.turns) for w, r in racers.items()}, peak.gflops


def worst_pair(times):
    """(ratio, narrower, wider): how many times as long the narrower takes, at worst."""
    pairs = [(times[a] / times[b], a, b) for a in times for b in times if a < b]
    return max(pairs, default=(0, 0, 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("peak")
    parser.add_argument("--kernel", type=int, default=3)
    parser.add_argument("--size", type=int, default=32, help="rows and columns of the image")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--widths", default="8-64", help="a range, or single widths: 16,17,33")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each turn")
    flags = parser.parse_args()
    first, _, last = flags.widths.partition("-")
    widths = range(int(first), int(last) + 1) if last else list(map(int, flags.widths.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        times, peak = measure(flags, widths, folder)
    pixels = flags.layers * flags.size**2
    for width, ms in times.items():
        share = 2e-6 * pixels * (width * flags.kernel) ** 2 / ms / peak
        print(f"{width:3} channels {ms:8.4f} ms {100 * share:4.0f} % of peak")
    ratio, narrower, wider = worst_pair(times)
    result = {"bench": "widths", "kernel": flags.kernel, "size": flags.size, "layers": flags.layers,
              "worst": round(ratio, 3), "of": [narrower, wider], "bar": "worst <= 1.05"}
    if 32 in times and 33 in times:
        result["33_to_32"] = round(times[33] / times[32], 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
