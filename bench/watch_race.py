#!/usr/bin/python3
"""Watching a video on one core against ONNX Runtime, which runs the detector on every frame.

bench/watch_race.py build/release/shoal MODEL VIDEO TRUTH [--agreement 0.95 ...] [--delta off] [--core 0]

ONNX Runtime is timed with the network alone; what it would take to decode, resize and find boxes is left out. `shoal watch`
is timed with everything, its decoder included. Times are of the processor, on one core, so that other programs disturb
little; the two have turns. Recall is of people of the ground truth (MOT15) whose box overlaps one with an identity by half,
against that of the same detector and tracker with a look at every frame. Prints a JSON line for each agreement.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
from engines import ORT, need_ort  # noqa: E402

PERSON = 0


def read_truth(path):
    """Boxes that count, by frame from 0."""
    truth = {}
    for line in pathlib.Path(path).read_text().splitlines():
        frame, _, left, top, width, height, counts = map(float, line.split(",")[:7])
        if counts:
            truth.setdefault(int(frame) - 1, []).append((left, top, width, height))
    return truth


def overlap(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0
    return width * height / (a[2] * a[3] + b[2] * b[3] - width * height)


def found_in(truth, boxes):
    """How many of the true boxes have a partner, the closest pairs first."""
    pairs = sorted(((overlap(t, b), i, j) for i, t in enumerate(truth) for j, b in enumerate(boxes)), reverse=True)
    rows, columns = set(), set()
    for share, i, j in pairs:
        if share >= 0.5 and i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
    return len(rows)


def recall(lines, truth):
    found = total = 0
    for line in lines.read_text().splitlines():
        frame = json.loads(line)
        boxes = [(one["x"], one["y"], one["w"], one["h"]) for one in frame["boxes"]
                 if one["class"] == PERSON and one.get("id")]
        found += found_in(truth.get(frame["frame"], []), boxes)
        total += len(truth.get(frame["frame"], []))
    return found / total


def on_core(core, call):
    """What it printed, and its processor seconds with those of its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["taskset", "-c", str(core), *map(str, call)], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_ort(flags):
    """Processor seconds of a run: of a long bench beyond those of a short one."""
    runs, seconds = [], []
    for length in (1, flags.ort_seconds):
        out, used = on_core(flags.core, [*ORT, "bench", flags.model, "--threads", 1, "--seconds", length])
        runs.append(json.loads(out.splitlines()[-1])["runs"])
        seconds.append(used)
    return (seconds[1] - seconds[0]) / (runs[1] - runs[0])


def watch(flags, folder, truth, *more):
    lines = folder / "frames.jsonl"
    call = [flags.shoal, "watch", flags.video, "--model", flags.model, "--threads", 1, "--track", "--frames", flags.frames,
            "--jsonl", lines, "--json", *more]
    out, used = on_core(flags.core, call)
    result = json.loads(out.splitlines()[-1])
    return {"seconds": used / result["frames"], "skipped": result["skipped"] / result["frames"],
            "macs_share": result["macs_share"], "recall": recall(lines, truth)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("model")
    parser.add_argument("video")
    parser.add_argument("truth")
    parser.add_argument("--agreement", type=float, nargs="+", default=[0.95])
    parser.add_argument("--delta", default="off")
    parser.add_argument("--frames", type=int, default=0)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--ort-seconds", type=float, default=8)
    flags = parser.parse_args()
    need_ort()
    truth = read_truth(flags.truth)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        every = watch(flags, folder, truth)
        for agreement in flags.agreement:
            before = time_ort(flags)
            gated = watch(flags, folder, truth, "--gate", "auto", "--agreement", agreement, "--delta", flags.delta)
            ort = (before + time_ort(flags)) / 2
            print(json.dumps({
                "bench": "watch_race", "model": pathlib.Path(flags.model).name, "agreement": agreement, "delta": flags.delta,
                "ort_ms": 1e3 * ort, "every_ms": 1e3 * every["seconds"], "watch_ms": 1e3 * gated["seconds"],
                "times_ort": ort / gated["seconds"], "skipped": gated["skipped"], "macs_share": gated["macs_share"],
                "recall": gated["recall"], "recall_every": every["recall"],
                "recall_share": gated["recall"] / every["recall"]}), flush=True)


if __name__ == "__main__":
    main()
