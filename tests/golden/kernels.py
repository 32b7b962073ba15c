#!/usr/bin/python3
"""Lists what the CPU computes by reference functions, and how much of the time goes to the layout.

Over the zoo and the models in ../shared/models, only the operators in EXCEPTIONS may run without a
kernel, and an exception that is no longer needed fails too. With --shares, reorders may take 3 % of
the time and reference functions 1 %: for a quiet machine only. 77: there are no shared models.

Usage: kernels.py SHOAL [MODEL.onnx | zoo:NAME ...] [--shares]
"""

import json
import sys
from pathlib import Path

from setting import SHARED, call, skip

# Small next to the rest of their models: they handle token numbers, or the border of one image.
EXCEPTIONS = {
    "style-candy": {"Pad"},  # that reflects the image
    "use-lite-transformer": {"Cast", "Greater"},  # which makes a mask of token numbers
}
MOST = {"reorder": 0.03, "reference": 0.01}


def profile(shoal, model, runs):
    # Which operators have a kernel does not depend on which one is fastest.
    flags = ["--json", "--threads", 1, "--runs", runs, "--tune", "fast" if runs > 1 else "off"]
    return json.loads(call([shoal, "profile", model, *flags]))


def check_kernels(name, result):
    by_reference = {layer["operator"] for layer in result["layers"] if layer["kernel"] == "reference"}
    allowed = EXCEPTIONS.get(name, set())
    for operator in sorted(by_reference - allowed):
        print(f"{name:28} {operator} has no kernel")
    for operator in sorted(allowed - by_reference):
        print(f"{name:28} {operator} has a kernel now: take it off the list")
    return by_reference == allowed


def check_shares(name, result):
    shares = {kernel: result["by_kernel"][kernel] / result["total_ms"] for kernel in MOST}
    print(f"{name:28} " + ", ".join(f"{kernel} {share:.2%}" for kernel, share in shares.items()))
    return all(share <= MOST[kernel] for kernel, share in shares.items())


def main():
    arguments = [word for word in sys.argv[1:] if word != "--shares"]
    if not arguments:
        sys.exit(__doc__)
    shoal, models = arguments[0], arguments[1:]
    if not models:
        shared = sorted((SHARED / "models").rglob("*.onnx"))
        if not shared:
            skip("there are no shared models beside this repository")
        zoo = [f"zoo:{line.split()[0]}" for line in call([shoal, "zoo"]).splitlines()[1:]]
        models = shared + zoo
    timed = "--shares" in sys.argv
    verdicts = []
    for model in models:
        name = Path(model).stem
        result = profile(shoal, model, runs=10 if timed else 1)
        verdicts.append(check_kernels(name, result))
        if timed:
            verdicts.append(check_shares(name, result))
    print(f"{len(models)} models")
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
