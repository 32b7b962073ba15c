#!/usr/bin/python3
"""Open VGG-16 to its first answer: Shoal against ONNX Runtime, interleaved.

bench/load.py SHOAL [--threads 2] [--rounds 5]

Prints one JSON line: medians of the time from opening the file to the first answer, their ratio
(above 1: Shoal is faster), and Shoal's peak memory as a share of the file.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ORT = pathlib.Path(__file__).resolve().parents[1] / "tests/peers/ort.mjs"


def bench(program, model, threads):
    call = [*program, "bench", str(model), "--threads", str(threads), "--seconds", "0.1", "--json"]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "vgg16.onnx"
        subprocess.run([flags.shoal, "zoo", "vgg16", "-o", model], check=True)
        ours, theirs = [], []
        for _ in range(flags.rounds):
            ours.append(bench([flags.shoal], model, flags.threads))
            theirs.append(bench(["node", str(ORT)], model, flags.threads))
        size_mb = model.stat().st_size / 2**20
    median = lambda runs, key: statistics.median(run[key] for run in runs)
    print(json.dumps({
        "model": "vgg16", "threads": flags.threads, "rounds": flags.rounds,
        "shoal_first_ms": round(median(ours, "first_ms"), 1),
        "ort_first_ms": round(median(theirs, "first_ms"), 1),
        "ratio": round(median(theirs, "first_ms") / median(ours, "first_ms"), 2),
        "shoal_peak_rss_mb": round(max(run["peak_rss_mb"] for run in ours), 1),
        "ort_peak_rss_mb": round(max(run["peak_rss_mb"] for run in theirs), 1),
        "file_mb": round(size_mb, 1),
        "rss_to_file": round(max(run["peak_rss_mb"] for run in ours) / size_mb, 3),
    }))


main()
