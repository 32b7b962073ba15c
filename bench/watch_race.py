#!/usr/bin/python3
"""Watching a video on one core against ONNX Runtime, which runs the detector on every frame.

bench/watch_race.py build/release/shoal MODEL VIDEO TRUTH [--class 0] [--agreement 0.95 ...] [--watch='--rect'] [--rounds 3] [--core 0]

ONNX Runtime is timed with the network alone; what it would take to decode, resize and find boxes is left out. `shoal watch`
is timed with everything, its decoder included. Times are of the processor, on one core, so that other programs disturb
little; the two have turns, and medians of the rounds are taken. Of both, the time of a short run is taken off that of a long
one, which leaves out loading and compiling. Recall is of people of the ground truth (MOT15), or objects of another class,
whose box overlaps one with an identity by half, and precision the share of such boxes, beside those of the same detector and
tracker with a look at every frame. Where TRUTH is "every", those boxes are the truth. Prints a JSON line for each agreement.
"""
import argparse
import json
import pathlib
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
from engines import ORT, need_ort  # noqa: E402

SHORT = 20  # frames of the short run


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


def tracked(lines, label):
    """Boxes of a class with an identity, by frame."""
    return {frame["frame"]: [(one["x"], one["y"], one["w"], one["h"]) for one in frame["boxes"]
                             if label in (one["class"], None) and one.get("id")]
            for frame in map(json.loads, lines.read_text().splitlines())}


def accuracy(boxes, truth):
    """Recall and precision."""
    found = sum(found_in(truth.get(frame, []), some) for frame, some in boxes.items())
    total = sum(len(truth.get(frame, [])) for frame in boxes)
    return found / max(total, 1), found / max(sum(map(len, boxes.values())), 1)


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


def watch(flags, folder, *more):
    lines = folder / "frames.jsonl"

    def run(frames):
        out, used = on_core(flags.core, [flags.shoal, "watch", flags.video, "--model", flags.model, "--threads", 1, "--track",
                                         "--frames", frames, "--jsonl", lines, "--json", *more])
        return json.loads(out.splitlines()[-1]), used
    short, short_seconds = run(SHORT)
    result, seconds = run(flags.frames)
    return {"seconds": (seconds - short_seconds) / (result["frames"] - short["frames"]),
            "skipped": result["skipped"] / result["frames"], "macs_share": result["macs_share"],
            "boxes": tracked(lines, flags.label)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("model")
    parser.add_argument("video")
    parser.add_argument("truth")
    parser.add_argument("--class", type=int, default=0, dest="label", help="of the objects; 0 is a person, 2 a car, -1 any")
    parser.add_argument("--agreement", type=float, nargs="+", default=[0.95])
    parser.add_argument("--watch", default="", help="more flags for shoal watch with the gate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frames", type=int, default=0)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--ort-seconds", type=float, default=8)
    flags = parser.parse_args()
    flags.label = None if flags.label < 0 else flags.label
    need_ort()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        every = watch(flags, folder)
        truth = every["boxes"] if flags.truth == "every" else read_truth(flags.truth)
        recall_every, precision_every = accuracy(every["boxes"], truth)
        for agreement in flags.agreement:
            ort, seconds, times = [], [], []
            for _ in range(flags.rounds):
                before = time_ort(flags)
                gated = watch(flags, folder, "--gate", "auto", "--agreement", agreement, *shlex.split(flags.watch))
                ort.append((before + time_ort(flags)) / 2)
                seconds.append(gated["seconds"])
                times.append(ort[-1] / seconds[-1])
            recall, precision = accuracy(gated["boxes"], truth)
            print(json.dumps({
                "bench": "watch_race", "model": pathlib.Path(flags.model).name, "video": pathlib.Path(flags.video).name,
                "truth": pathlib.Path(flags.truth).name, "agreement": agreement, "watch": flags.watch,
                "rounds": flags.rounds, "ort_ms": 1e3 * statistics.median(ort), "every_ms": 1e3 * every["seconds"],
                "watch_ms": 1e3 * statistics.median(seconds), "times_ort": statistics.median(times), "times": times,
                "skipped": gated["skipped"], "macs_share": gated["macs_share"],
                "recall": recall, "recall_every": recall_every, "precision": precision, "precision_every": precision_every,
                "recall_share": recall / recall_every}), flush=True)


if __name__ == "__main__":
    main()
