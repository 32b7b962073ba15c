"""A few of the digits that the built-in model knows, as arrays on disk."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import digits  # noqa: E402


def write_digits(folder):
    for name, seed, count in (("train", 1, 220), ("test", 2, 60)):
        images, labels = digits.draw(seed=seed, count=count)
        np.save(folder / f"{name}-images.npy", images.reshape(-1, digits.SIDE, digits.SIDE))
        np.save(folder / f"{name}-labels.npy", labels.astype(np.int64))
