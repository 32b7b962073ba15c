#!/usr/bin/python3
"""Asks Shoal and ONNX Runtime the same questions and compares the answers.

Every model gets the same seeded random inputs in both; its float outputs have to agree within 1e-4
of max|y|, the others exactly. Integer kernels round differently, so a quantised model is held to
its decisions instead: the same top-1 class on at least 98 % of the shared images.

Usage: compare_ort.py SHOAL [MODEL.onnx | zoo:NAME ...] [-- FLAGS]
Without models, it takes those in ../shared/models and the whole zoo. The flags go to 'shoal run':
-- --kernel winograd6, or -- --instructions AVX2.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from PIL import Image
from setting import PEERS, SHARED, call, ort_is_here, skip

ZOO = (
    "lenet5 mlp convnet allcnn nin alexnet vgg16 resnet18 resnet20 resnet50 mobilenetv2 squeezenet "
    "tinyyolov2 c3d encoder seq2seq"
).split()
SEED = 1
MAX_ERROR = 1e-4
LEAST_AGREEMENT = 0.98
SYMBOLIC_DIMENSION = 2  # Not 1, which broadcasting would forgive.
IMAGES_PER_CALL = 50


class Program(NamedTuple):
    command: list
    flags: list = []


ORT = Program(["node", PEERS / "ort.mjs"])


def answers(program, model, inputs, scratch):
    """The outputs that `PROGRAM run MODEL` saves for these inputs, by file name."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    arguments = []
    for i, (name, array) in enumerate(inputs.items()):
        np.save(folder / f"in_{i}.npy", array)
        arguments += ["--input", f"{name}={folder}/in_{i}.npy"]
    call([*program.command, "run", model, *arguments, *program.flags, "--save", folder / "out"])
    return {path.stem: np.load(path) for path in sorted((folder / "out").glob("*.npy"))}


# What a model takes where that is not about one: style-candy subtracts a pixel mean of about 110 and
# normalises each channel, so on inputs near 0 every engine shows mostly its own rounding. Against
# an evaluation in f64, inputs in [0, 1): ONNX Runtime 1.1e-3, PyTorch 4.8e-4, Shoal 2.3e-4 of
# max|y|; inputs in [0, 255): 9.5e-6, 2.1e-6 and 2.5e-6. yolox-nano takes pixels, too: standard normal
# inputs give ONNX Runtime 9.5e-5, Shoal 1.1e-4, its reference kernels 1.5e-4; pixels 4.2e-6, 8.2e-6
# and 6.8e-6.
PIXELS = {"style-candy.onnx", "yolox-nano-coco-416.onnx"}


def random_inputs(graph, pixels):
    """Standard normal for floats; 0 or 1 for the rest, which any vocabulary or condition allows."""
    generator = np.random.default_rng(SEED)
    initialised = {tensor.name for tensor in graph.initializer}
    inputs = {}
    for value in graph.input:
        if value.name in initialised:
            continue
        kind = value.type.tensor_type
        shape = [dim.dim_value or SYMBOLIC_DIMENSION for dim in kind.shape.dim]
        dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[kind.elem_type]
        is_float = dtype.kind == "f"
        drawn = generator.standard_normal(shape) if is_float else generator.integers(0, 2, shape)
        if is_float and pixels:
            drawn = generator.uniform(0, 255, shape)
        inputs[value.name] = drawn.astype(dtype)
    return inputs


def relative_error(ours, theirs):
    """max|ours - theirs| / max|theirs|; infinite where there is nothing to compare."""
    if ours is None or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return np.inf
    if theirs.dtype.kind != "f":
        return 0.0 if np.array_equal(ours, theirs) else np.inf
    largest = np.max(np.abs(theirs), initial=0.0)
    return np.max(np.abs(ours - theirs), initial=0.0) / (largest or 1.0)


def report(model, what, figure, good):
    print(f"{model:32} {what:24} {figure:>24}  {'ok' if good else 'FAILED'}", flush=True)
    return good


def compare_outputs(shoal, name, model, graph, scratch):
    inputs = random_inputs(graph, name in PIXELS)
    ours = answers(shoal, model, inputs, scratch)
    theirs = answers(ORT, model, inputs, scratch)
    verdicts = []
    for output, expected in theirs.items():
        error = relative_error(ours.get(output), expected)
        verdicts.append(report(name, output, f"{error:.2e} of max|y|", error <= MAX_ERROR))
    return bool(verdicts) and all(verdicts)


def read_image(path, resized, cropped):
    """[3, cropped, cropped]: the short side brought to `resized` (bilinear) if it is not, the other
    in proportion and rounded; the centre cut out, odd margins rounded down; / 255, mean and std."""
    image = Image.open(path).convert("RGB")
    short = min(image.size)
    if short != resized:
        image = image.resize([round(side * resized / short) for side in image.size], Image.BILINEAR)
    left, top = ((side - cropped) // 2 for side in image.size)
    image = image.crop((left, top, left + cropped, top + cropped))
    pixels = np.asarray(image, np.float32) / 255  # [h, w, c]
    normal = (pixels - np.float32([0.485, 0.456, 0.406])) / np.float32([0.229, 0.224, 0.225])
    return normal.transpose(2, 0, 1)


def compare_decisions(shoal, name, model, graph, scratch):
    files = sorted((SHARED / "data" / "imagenet").glob("*.jpg"))
    side = graph.input[0].type.tensor_type.shape.dim[-1].dim_value
    images = np.stack([read_image(file, 256, side) for file in files])
    output = graph.output[0].name
    same = 0
    for start in range(0, len(images), IMAGES_PER_CALL):
        inputs = {graph.input[0].name: images[start : start + IMAGES_PER_CALL]}
        ours = answers(shoal, model, inputs, scratch)[output].argmax(axis=1)
        theirs = answers(ORT, model, inputs, scratch)[output].argmax(axis=1)
        same += np.count_nonzero(ours == theirs)
    agreement = same / len(images)
    good = agreement >= LEAST_AGREEMENT
    return report(name, f"top-1 of {len(images)} images", f"{agreement:.1%} agree", good)


def compare(shoal, name, scratch):
    model, label = Path(name), Path(name).name
    if name.startswith("zoo:"):
        model = Path(scratch) / "model.onnx"
        call([*shoal.command, "zoo", name.removeprefix("zoo:"), "-o", model])
    graph = onnx.load(str(model)).graph
    is_quantised = any(node.op_type == "DequantizeLinear" for node in graph.node)
    rule = compare_decisions if is_quantised else compare_outputs
    return rule(shoal, label, model, graph, scratch)


def has_device(shoal):
    """Exit code 4, of the built-in model on built-in images: there is none."""
    done = subprocess.run([*shoal.command, "run", *shoal.flags], capture_output=True)
    return done.returncode != 4


def default_models():
    shared = sorted(str(path) for path in (SHARED / "models").glob("*.onnx"))
    if not shared:
        print("no shared models beside this repository: only the zoo is compared")
    return shared + [f"zoo:{name}" for name in ZOO]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not ort_is_here():
        skip("ONNX Runtime is not installed (tools/setup peers)")
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shoal, models = Program([arguments[0]], arguments[end + 1 :]), arguments[1:end]
    if "--device" in shoal.flags and not has_device(shoal):
        skip("there is no such device here")
    verdicts = []
    for name in models or default_models():
        # One folder per model: the largest are half a gigabyte.
        with tempfile.TemporaryDirectory() as scratch:
            verdicts.append(compare(shoal, name, scratch))
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
