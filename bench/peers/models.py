"""The models that race, and the files they race from."""
import pathlib
import subprocess
import sys

from engines import ROOT, ask

SHARED = ROOT.parent / "shared/models"

# How many times as fast as ONNX Runtime each shall be, on one thread and on more.
USUAL, SMALL = (1.15, 1.15), (1.3, 1.15)
ZOO = {name: USUAL for name in ("convnet", "mlp", "nin", "squeezenet", "allcnn", "mobilenetv2", "seq2seq",
                                "vgg16cifar", "resnet50", "c3d")}
ZOO |= {"lenet5": (1.2, 1.2), "encoder": (1.2, 1.2), "alexnet": (1.2, 1.2), "resnet18": (1.25, 1.25),
        "tinyyolov2": (1.25, 1.25), "vgg16": (1.7, 1.7)}
# Trained by others; no kernel was written for them.
OTHERS = {name: SMALL for name in ("etinynet-imagenet", "fastestdet-coco-352", "yolox-nano-coco-416",
                                   "nanodet-m-coco-320", "mobilefacenet")}
OTHERS |= {name: USUAL for name in ("yolov8n-coco-640", "face-retina-mnet025", "face-rfb320",
                                    "squeezenet1.1-imagenet", "deeplabv3-mnv2-voc", "resnet20-cifar10",
                                    "resnet56-cifar10", "person-reid-retail-0288", "style-candy",
                                    "use-lite-transformer")}
INT8 = {name: (1.2, 1.2) for name in ("mobilenetv2-qdq-imagenet", "mobilenetv2-int8", "resnet50-int8", "vgg16-int8")}
GOALS = ZOO | OTHERS | INT8


def goal(name, threads):
    return GOALS[name][0 if threads == 1 else 1]


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
    if name in ZOO:
        return write_zoo(shoal, name, folder)
    if name.endswith("-int8"):
        return write_int8(shoal, name, folder)
    file = SHARED / f"{name}.onnx"
    if file.exists():
        return file
    print(f"skipped {name}: ../shared is not here", file=sys.stderr)
    return None


def macs(shoal, file, *flags):
    return ask(shoal, "inspect", file, "--json", *flags)[0]["macs"]
