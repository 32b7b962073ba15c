#!/usr/bin/python3
"""Open VGG-16 to its first answer: Shoal for the first time, again, with packed weights, ONNX Runtime, in turns.

bench/peers/start.py build/release/shoal [--threads 2] [--rounds 5]

Prints one JSON line: medians of the time from opening the file to the first answer, how they compare,
and Shoal's peak memory as a share of the file. Before each first start all that Shoal keeps is
removed: its cache folder, and whatever lies beside the model.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import tempfile

import models
from engines import ORT, ask, need_ort


def forget(model, caches):
    for file in model.parent.iterdir():
        if file.name.startswith(model.name) and file != model:
            file.unlink()
    shutil.rmtree(caches, ignore_errors=True)


def measure(shoal, folder, threads, rounds):
    model = models.write_zoo(shoal, "vgg16", folder)
    caches = pathlib.Path(folder) / "caches"
    env = {"XDG_CACHE_HOME": str(caches)}
    packed_cache = ("--packed-cache", f"{model}.packed")
    first, second, packed, ort = [], [], [], []
    for _ in range(rounds):
        forget(model, caches)
        bench = ("bench", model, "--threads", threads, "--seconds", 0, "--json")
        first += ask(shoal, *bench, env=env)
        second += ask(shoal, *bench, env=env)
        ask(shoal, *bench, *packed_cache, env=env)  # writes it
        packed += ask(shoal, *bench, *packed_cache, env=env)
        ort += ask(ORT, *bench)
    median = lambda runs: round(statistics.median(run["first_ms"] for run in runs), 1)
    peak = lambda *runs: round(max(run["peak_rss_mb"] for run in sum(runs, [])), 1)
    file_mb = model.stat().st_size / 2**20
    return {
        "bench": "start", "model": "vgg16", "threads": threads, "rounds": rounds,
        "first_ms": median(first), "second_ms": median(second), "packed_ms": median(packed),
        "ort_ms": median(ort),
        "ratio": round(median(ort) / median(first), 2),
        "second_to_first": round(median(second) / median(first), 3), "bar": "second_to_first <= 0.5",
        "shoal_mb": peak(first, second), "ort_mb": peak(ort), "file_mb": round(file_mb, 1),
        "shoal_to_file": round(peak(first, second) / file_mb, 3),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    flags = parser.parse_args()
    need_ort()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure([flags.shoal], folder, flags.threads, flags.rounds)))


if __name__ == "__main__":
    main()
