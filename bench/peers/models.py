"""The models that race, and the files they race from."""
import pathlib
import subprocess
import sys

from engines import ROOT, ask

TRAINED_INT8 = ROOT.parent / "shared/models/mobilenetv2-qdq-imagenet.onnx"

# How many times as fast as ONNX Runtime each shall be.
FP32_GOALS = {"lenet5": 1.2, "mobilenetv2": 1.1, "alexnet": 1.2, "resnet18": 1.25, "resnet50": 1.15,
              "tinyyolov2": 1.25, "encoder": 1.2, "vgg16": 1.7}
INT8_GOALS = {"mobilenetv2-int8": 1.0, "resnet50-int8": 1.0, "vgg16-int8": 1.0}
GOALS = FP32_GOALS | INT8_GOALS


def write_zoo(shoal, name, folder):
    file = pathlib.Path(folder) / f"{name}.onnx"
    if not file.exists():
        subprocess.run([*shoal, "zoo", name, "-o", file], check=True)
    return file


def write_int8(shoal, name, folder):
    """A network of the zoo quantised with ranges seen on random inputs: good enough to measure speed."""
    file = pathlib.Path(folder) / f"{name}.onnx"
    if not file.exists():
        network = write_zoo(shoal, name.removesuffix("-int8"), folder)
        subprocess.run([*shoal, "convert", network, "--int8", "-o", file], check=True)
    return file


def write(shoal, name, folder):
    """The ONNX file of a model, or None and a message where it cannot be had."""
    if name in FP32_GOALS:
        return write_zoo(shoal, name, folder)
    if name != "mobilenetv2-int8":
        return write_int8(shoal, name, folder)
    if TRAINED_INT8.exists():
        return TRAINED_INT8
    print(f"skipped {name}: ../shared is not here", file=sys.stderr)
    return None


def macs(shoal, file, *flags):
    return ask(shoal, "inspect", file, "--json", *flags)[0]["macs"]
