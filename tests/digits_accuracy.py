#!/usr/bin/python3
"""The embedded classifier is right on at least 97 % of digits it never saw.

Usage: digits_accuracy.py SHOAL
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import digits

IMAGES = 2000
LEAST_TOP1 = 97.0  # percent


def evaluate(shoal):
    """What `shoal eval --json` says about the held-out images."""
    with tempfile.TemporaryDirectory() as folder:
        digits.write_set(pathlib.Path(folder), digits.HELD_OUT_SEED, IMAGES)
        command = [shoal, "eval", "zoo:digits", "--data", folder, "--format", "idx", "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"'{' '.join(command)}' ended with exit code {done.returncode}")
    return json.loads(done.stdout)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = evaluate(sys.argv[1])
    print(f"top1 {result['top1']:.2f} % of {result['images']} images")
    if result["images"] != IMAGES:
        sys.exit(f"expected {IMAGES} images")
    if result["top1"] < LEAST_TOP1:
        sys.exit(f"expected a top1 of at least {LEAST_TOP1} %")


if __name__ == "__main__":
    main()
