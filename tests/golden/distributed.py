#!/usr/bin/python3
"""Several devices give the answer of one: distributed.py SHOAL [--all] [MODEL.onnx ...]

Every model in ../shared/models, on the same seeded random inputs, by 'shoal run' and on emulated
workers with real channels between them. The ways to split are dealt out among the models; --all
tries each way on each model, which takes minutes. Floats have to agree within 1e-4 of max|y|, all
else exactly. 77: there are no shared models.
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


def compare(shoal, model, ways, scratch):
    inputs = random_inputs(onnx.load(str(model)).graph, model.name in PIXELS)
    here = answers(Program([shoal]), model, inputs, scratch)
    verdicts = []
    for workers, split in ways:
        there = answers(cluster(shoal, workers, split), model, inputs, scratch)
        error = max(relative_error(there.get(name), expected) for name, expected in here.items())
        what = f"{workers} workers, {split}"
        verdicts.append(report(model.name, what, f"{error:.2e} of max|y|", error <= MAX_ERROR))
    return all(verdicts)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    every_way = "--all" in sys.argv
    named = [Path(name) for name in sys.argv[2:] if name != "--all"]
    models = named or sorted((SHARED / "models").glob("*.onnx"))
    if not models:
        skip("there are no shared models beside this repository")
    verdicts = []
    for turn, model in enumerate(models):
        ways = WAYS if every_way else [WAYS[turn % len(WAYS)]]
        with tempfile.TemporaryDirectory() as scratch:
            verdicts.append(compare(sys.argv[1], model, ways, scratch))
    sys.exit(0 if all(verdicts) else 1)


main()
