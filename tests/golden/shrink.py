#!/usr/bin/python3
"""Holds models from which half of the units were removed to ONNX Runtime.

Of every float model: 'shoal convert --magnitude --target units=0.5' writes a file that ONNX Runtime
reads, with the same answers as Shoal (compare_ort.py). A quantised model is refused by name.

Usage: shrink.py SHOAL [--all | MODEL.onnx | zoo:NAME ...]
Without models, it takes one of each kind (KINDS); --all: those in ../shared/models and the whole
zoo, which takes a minute.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from compare_ort import Program, compare_outputs, default_models, report
from setting import call, ort_is_here, skip

# Residuals, attention, shuffled channels, a quantised model, layers in a row, attention as the zoo
# writes it, concatenation, depthwise convolutions.
KINDS = (
    "resnet20-cifar10.onnx use-lite-transformer.onnx nanodet-m-coco-320.onnx "
    "mobilenetv2-qdq-imagenet.onnx zoo:lenet5 zoo:encoder zoo:squeezenet zoo:mobilenetv2"
).split()
COMMAND = "convert --magnitude --target units=0.5 --json".split()


def is_quantised(name):
    return name.endswith(".onnx") and any(
        node.op_type == "DequantizeLinear" for node in onnx.load(name).graph.node
    )


def refuses(shoal, name, smaller):
    words = [*shoal.command, *COMMAND, name, "-o", str(smaller)]
    done = subprocess.run(words, capture_output=True, text=True)
    good = done.returncode != 0 and "is quantised" in done.stderr
    return report(Path(name).name, "", "refused by name", good)


def check(shoal, name, scratch):
    smaller = Path(scratch) / "smaller.onnx"
    if is_quantised(name):
        return refuses(shoal, name, smaller)
    facts = json.loads(call([*shoal.command, *COMMAND, name, "-o", smaller]))
    print(f"{Path(name).name}: {facts['compressed']} of {facts['units']} units removed")
    return compare_outputs(shoal, Path(name).name, smaller, onnx.load(str(smaller)).graph, scratch)


def models(arguments):
    if arguments and arguments != ["--all"]:
        return arguments
    return [name for name in default_models() if arguments or Path(name).name in KINDS]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not ort_is_here():
        skip("ONNX Runtime is not installed (tools/setup peers)")
    shoal = Program([sys.argv[1]])
    with tempfile.TemporaryDirectory() as scratch:
        verdicts = [check(shoal, name, scratch) for name in models(sys.argv[2:])]
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
