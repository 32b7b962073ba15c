#!/usr/bin/python3
"""Shoal against ONNX Runtime on the same ONNX files.

bench/peers/race.py build/release [--quick] [--models resnet18,vgg16] [--threads 1,2] [--checks]

Both engines stay open and warm and run in turns (A B A B ...), never at the same time, so that what
the machine does besides hits both. Prints a table with the noise of each ratio, and names what is more than 5 % slower,
beyond the noise, than docs/measurements/data/race.json has it. --save FILE keeps one JSON line per measurement,
--report writes that file, its page and its chart. --quick takes 2 s per model, for while one works on a kernel;
--checks adds what is no race: growth of the cost, starts, and the matrix product.
"""
import argparse
import contextlib
import json
import math
import pathlib
import statistics
import sys
import tempfile

import checks
import machine
import models
import report
from engines import ORT, Peak, Racer, need_ort


def median(racer, key="median_ms"):
    return statistics.median(turn[key] for turn in racer.turns)


def noise(ratios):
    """The standard error of the median of these ratios, relative to it. Outliers do not count."""
    middle = statistics.median(ratios)
    deviation = 1.48 * statistics.median(abs(ratio - middle) for ratio in ratios)
    return 1.25 * deviation / math.sqrt(len(ratios)) / middle


def race(flags, name, file, threads):
    peak = Peak(flags.build / "bench_peak", threads)
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        shoal = enter(Racer(flags.shoal, file, threads))
        ort = enter(Racer(ORT, file, threads))
        for _ in range(flags.rounds):
            shoal.turn(flags.seconds / flags.rounds / 2)
            ort.turn(flags.seconds / flags.rounds / 2)
            peak.measure()
    ratios = [theirs["median_ms"] / ours["median_ms"] for ours, theirs in zip(shoal.turns, ort.turns)]
    gflop = 2e-9 * models.macs(flags.shoal, file)
    return {
        "bench": "race", "model": name, "threads": threads, "goal": models.goal(name, threads),
        "shoal_ms": median(shoal), "shoal_p10_ms": median(shoal, "p10_ms"),
        "shoal_p90_ms": median(shoal, "p90_ms"), "shoal_mb": median(shoal, "peak_rss_mb"),
        "ort_ms": median(ort), "ort_p10_ms": median(ort, "p10_ms"),
        "ort_p90_ms": median(ort, "p90_ms"), "ort_mb": median(ort, "peak_rss_mb"),
        "ratio": statistics.median(ratios), "noise": noise(ratios), "peak_gflops": peak.gflops,
        "shoal_share": gflop / (1e-3 * median(shoal)) / peak.gflops,
        "ort_share": gflop / (1e-3 * median(ort)) / peak.gflops,
    }


def geometric_mean(rows):
    ratios = [row["ratio"] for row in rows if row["model"] not in models.INT8]
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_flags():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a build folder with SHOAL_BENCH=ON")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(models.GOALS))
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=20, help="for each model, both engines together")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="2 s in 4 rounds")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--save", type=pathlib.Path)
    flags = parser.parse_args()
    if unknown := set(flags.models) - set(models.GOALS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(models.GOALS)}")
    if flags.quick:
        flags.seconds, flags.rounds = 2, 4
    flags.shoal = [str(flags.build / "shoal")]
    # What to write beside the figures: another build folder or file to save gives no others.
    usual = (flags.seconds, flags.rounds) == (parser.get_default("seconds"), parser.get_default("rounds"))
    flags.command = "make bench" if usual else f"race.py --seconds {flags.seconds:g} --rounds {flags.rounds} --checks"
    return flags


def run_races(flags, folder, keep):
    rows = []
    for name in flags.models:
        file = models.write(flags.shoal, name, folder)
        for threads in flags.threads if file else ():
            rows.append(keep(race(flags, name, file, threads)))
            print(report.line(rows[-1]), flush=True)
    return rows


def main():
    flags = parse_flags()
    need_ort()
    facts = {"command": flags.command, "commit": machine.commit(), "machine": machine.describe()}
    results = []

    def keep(result):
        results.append(facts | result)
        return result

    with tempfile.TemporaryDirectory() as folder:
        print(report.heading())
        rows = run_races(flags, folder, keep)
        print(f"geometric mean of the fp32 ratios: {geometric_mean(rows):.2f}")
        for words in report.regressions(rows):
            print(words)
        if flags.checks:
            for result in checks.run(flags, folder):
                print(json.dumps(keep(result)), flush=True)
    if flags.save:
        flags.save.parent.mkdir(parents=True, exist_ok=True)
        flags.save.write_text("".join(json.dumps(result) + "\n" for result in results))
    if flags.report:
        report.write(results, geometric_mean(rows))


if __name__ == "__main__":
    main()
