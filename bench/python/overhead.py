#!/usr/bin/python3
"""What a call from Python costs more than one from C++: PYTHONPATH=build/python bench/python/overhead.py

Calls session.run() from Python and Session::run() inside the module in turns, on one session with
one thread and the same input, and compares the medians. Prints one JSON line. Fails if the overhead
is more than 15 us. LeNet-5, because on large models it is lost in what a run varies by.
"""
import argparse
import json
import platform
import statistics
import sys
import time

import numpy as np

import shoal

MODEL = "zoo:lenet5"
MOST_MICROSECONDS = 15  # of overhead


def measure(seconds):
    session = shoal.Session(MODEL, threads=1)
    inputs = {i.name: np.zeros(i.shape, i.dtype) for i in session.inputs}
    session.run(inputs)  # compiles
    python, native = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        session.run(inputs)
        python.append(1e6 * (time.perf_counter() - begin))
        native.append(1e6 * session._time_runs(inputs, 1)[0])
    return python, native


def summary(python, native):
    def row(name, values):
        deciles = statistics.quantiles(values, n=10)
        return {f"{name}_us": deciles[4], f"{name}_p10_us": deciles[0], f"{name}_p90_us": deciles[8]}

    overhead = statistics.median(python) - statistics.median(native)
    return {
        "bench": "python_overhead", "model": MODEL, "threads": 1, "calls": len(python),
        "machine": platform.processor() or platform.machine(), "version": shoal.__version__,
        **row("python", python), **row("native", native), "overhead_us": overhead,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    row = summary(*measure(parser.parse_args().seconds))
    print(json.dumps({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}))
    sys.exit(row["overhead_us"] > MOST_MICROSECONDS)


if __name__ == "__main__":
    main()
