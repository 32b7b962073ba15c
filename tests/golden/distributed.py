#!/usr/bin/python3
"""Several devices give the answer of one: distributed.py SHOAL [MODEL.onnx ...]

Every model in ../shared/models, on the same seeded random inputs, by 'shoal run' and on emulated
workers with real channels between them, split one way after the other. Floats have to agree within
1e-4 of max|y|, all else exactly. 77: there are no shared models.
"""

import sys
import tempfile
from pathlib import Path

import onnx
from compare_ort import MAX_ERROR, PIXELS, Program, answers, random_inputs, relative_error, report
from setting import SHARED, skip

# Splits and how many workers share the work; what the planner would choose itself comes last.
WAYS = [(2, "rows"), (3, "rows"), (4, "grid"), (2, "channels"), (3, "inputs"), (4, "any")]


def cluster(shoal, workers, split):
    devices = ["--workers", workers, "--device", "pi5", "--link", "gigabit", "--dilate", 1]
    return Program([shoal, "emulate", *devices, "--"], ["--cluster", "--split", split])


def compare(shoal, model, scratch):
    inputs = random_inputs(onnx.load(str(model)).graph, model.name in PIXELS)
    here = answers(Program([shoal]), model, inputs, scratch)
    verdicts = []
    for workers, split in WAYS:
        there = answers(cluster(shoal, workers, split), model, inputs, scratch)
        error = max(relative_error(there.get(name), expected) for name, expected in here.items())
        what = f"{workers} workers, {split}"
        verdicts.append(report(model.name, what, f"{error:.2e} of max|y|", error <= MAX_ERROR))
    return all(verdicts)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    models = [Path(name) for name in sys.argv[2:]] or sorted((SHARED / "models").glob("*.onnx"))
    if not models:
        skip("there are no shared models beside this repository")
    verdicts = []
    for model in models:
        with tempfile.TemporaryDirectory() as scratch:
            verdicts.append(compare(sys.argv[1], model, scratch))
    sys.exit(0 if all(verdicts) else 1)


main()
