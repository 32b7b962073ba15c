#!/usr/bin/python3
"""Holds what `shoal convert --int8` writes to what it was made from, and to ONNX Runtime.

A trained network keeps its accuracy, and Shoal and ONNX Runtime, which both compute what was written
in integers, decide alike.

Usage: int8.py SHOAL
"""

import json
import sys
import tempfile
from pathlib import Path

import onnx
from accuracy import CIFAR, IMAGENET_STATISTICS
from compare_ort import Program, compare_decisions, report
from setting import SHARED, call, ort_is_here, skip

CIFAR_MODEL = SHARED / "models" / "resnet20-cifar10.onnx"
IMAGES = 2000
LARGEST_LOSS = 1.0  # Points of top-1.
# Networks of random weights have classes that are a rounding apart, and sums that Shoal and ONNX Runtime round
# differently at ties. Theirs are quantised by rules that met no such tie here; a trained network as a user would.
PLAIN = ["--ranges", "minmax", "--no-bias-correction", "--real", 0]
NETWORKS = {
    "mobilenetv2": ("zoo:mobilenetv2", PLAIN),
    "resnet18": ("zoo:resnet18", PLAIN),
    "squeezenet1.1": (SHARED / "models" / "squeezenet1.1-imagenet.onnx", []),
}


def top1(shoal, model):
    data = ["--data", SHARED / "data" / "cifar10", *CIFAR, "--limit", IMAGES, "--batch", 1]
    return json.loads(call([shoal, "eval", model, *data, "--json"]))["top1"]


def keeps_accuracy(shoal, folder):
    """Photos of another data set show the ranges: the images it is judged by are not among them."""
    photos = ["--calibrate", SHARED / "data" / "imagenet", "--stretch", *IMAGENET_STATISTICS]
    written = folder / "int8.onnx"
    call([shoal, "convert", CIFAR_MODEL, "--int8", *photos, "-o", written])
    before, after = top1(shoal, CIFAR_MODEL), top1(shoal, written)
    good = after >= before - LARGEST_LOSS
    return report(CIFAR_MODEL.name, f"top-1 of {IMAGES} images", f"{before:.2f} to {after:.2f} %", good)


def open_batch(path):
    """Lets the model take any number of images, which no node of these networks minds."""
    model = onnx.load(str(path))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    del model.graph.value_info[:]
    onnx.save(model, str(path))
    return model.graph


def agrees_with_ort(shoal, name, folder):
    photos = ["--calibrate", SHARED / "data" / "imagenet", "--limit", 20, "--preset", "imagenet"]
    written = folder / f"{name}.onnx"
    model, rules = NETWORKS[name]
    call([shoal, "convert", model, "--int8", *photos, *rules, "-o", written])
    return compare_decisions(Program([shoal]), name, written, open_batch(written), folder)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not (SHARED / "models").is_dir() or not (SHARED / "data").is_dir():
        skip("there are no shared models and data beside this repository")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        verdicts = [keeps_accuracy(sys.argv[1], folder)]
        if ort_is_here():
            verdicts += [agrees_with_ort(sys.argv[1], name, folder) for name in NETWORKS]
        else:
            print("ONNX Runtime is not installed: decisions are not compared with its")
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
