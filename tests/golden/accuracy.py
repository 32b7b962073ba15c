#!/usr/bin/python3
"""Holds `shoal eval` to the accuracies that the shared models have under ONNX Runtime.

Usage: accuracy.py SHOAL
"""

import json
import sys
from dataclasses import dataclass

from setting import SHARED, call, skip

# The reading of the data that gives the reference figures: cifar10-test.bin.gz alone, RGB planes
# / 255, then mean and std; JPEGs with the short side brought to 256 (bilinear, the long side
# rounded), the centre cut out from ((width - 244) // 2, (height - 244) // 2), then the same.
IMAGENET_STATISTICS = ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]
CIFAR = ["--format", "cifar", *IMAGENET_STATISTICS]
FOLDER = ["--format", "folder", "--resize", "256", "--crop", "244", *IMAGENET_STATISTICS]


@dataclass
class Expectation:
    model: str
    data: str
    options: list
    images: int
    top1: float  # Percent, from the manifest beside the models.
    tolerance: float  # Points.


EXPECTATIONS = [
    Expectation("resnet20-cifar10.onnx", "cifar10", CIFAR, 10000, 81.03, 0.1),
    Expectation("resnet56-cifar10.onnx", "cifar10", CIFAR, 10000, 83.20, 0.1),
    # Two images of 200: the quantised model's near ties turn on how an engine rounds.
    Expectation("mobilenetv2-qdq-imagenet.onnx", "imagenet", FOLDER, 200, 83.0, 1.0),
]


def meets(shoal, expected):
    model = SHARED / "models" / expected.model
    data = SHARED / "data" / expected.data
    result = json.loads(call([shoal, "eval", model, "--data", data, *expected.options, "--json"]))
    # A few ulps of slack, so that a figure exactly on the bound counts as within it.
    near = abs(result["top1"] - expected.top1) <= expected.tolerance + 1e-9
    good = near and result["images"] == expected.images
    print(
        f"{expected.model:32} top1 {result['top1']:6.2f}"
        f"  expected {expected.top1:6.2f} ± {expected.tolerance}  top5 {result['top5']:6.2f}"
        f"  images {result['images']} of {expected.images}  {result['images_per_s']:8.1f}/s"
        f"  {'ok' if good else 'FAILED'}",
        flush=True,
    )
    return good


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not (SHARED / "models").is_dir() or not (SHARED / "data").is_dir():
        skip("there are no shared models and data beside this repository")
    verdicts = [meets(sys.argv[1], expected) for expected in EXPECTATIONS]
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
