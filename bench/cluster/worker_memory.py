#!/usr/bin/env python3
"""The memory of a worker that trains beside that of one device that trains alone (goal B19).

usage: worker_memory.py SHOAL MODEL --data DIR --format F [--batch 128] [--workers 2] [--steps 6] [FURTHER FLAGS OF train]

Peaks of the resident set, of whole processes. The last line is a JSON object.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "chaos"))
from coordinator_kills import Workers  # noqa: E402


def peak_mb(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("shoal", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--data", required=True)
    parser.add_argument("--format", required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6)
    options, more = parser.parse_known_args()
    options.more = more
    shoal = str(options.shoal.resolve())
    train = ["train", options.model, "--data", options.data, "--format", options.format, "--batch", str(options.batch),
             "--limit", str(options.batch * options.steps), "--epochs", "1", "--json", *options.more]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        alone = subprocess.run([shoal, *train, "--threads", "1", "--out", str(folder / "alone.onnx")],
                               capture_output=True, text=True, check=True, env={**os.environ, "XDG_CACHE_HOME": scratch})
        single = json.loads(alone.stdout.splitlines()[-1])["peak_rss_mb"]
        with Workers(shoal, folder, [f"worker-{i}" for i in range(options.workers)]) as workers:
            learners = [process for process in workers.processes if process.poll() is None and "worker" in process.args]
            before = max(map(peak_mb, learners))
            done = json.loads(workers.call(*train, "--cluster", "--all-workers").splitlines()[-1])
            worker = max(map(peak_mb, learners))
    print(json.dumps({"model": options.model, "batch": options.batch, "flags": options.more, "workers": done["workers_used"],
                      "alone_mb": round(single, 1), "worker_mb": round(worker, 1), "idle_worker_mb": round(before, 1),
                      "ratio": round(worker / single, 3)}))


if __name__ == "__main__":
    main()
