#!/usr/bin/env python3
"""Soak: faults without a pause, and what coordinator and workers hold meanwhile.

soak.py SHOAL --seconds 1800 [--model zoo:lenet5] [--kills 0 --stops 1 --slows 1 --partitions 1 ...]

Samples memory, descriptors and threads of all processes every few seconds. After a warm-up (the
first third) the slope of memory is that of a line by least squares, per process that lived all the
time; descriptors and threads are compared between the second third and the last. Prints one JSON
object; ends with 1 where a request failed, memory grows by more than 1 MiB in an hour or something
leaks.
"""
import argparse
import json
import os
import subprocess
import sys
import time

BAR_MIB_PER_HOUR = 1.0
KINDS = ["kills", "stops", "slows", "partitions", "delays", "breaks", "corruptions"]


def sample(pid):
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {
        "rss_kib": int(fields["VmRSS"].split()[0]),
        "threads": int(fields["Threads"]),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
    }


def family(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        own = [int(child) for child in file.read().split()]
    for task in os.listdir(f"/proc/{pid}/task"):
        if int(task) != pid:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                own += [int(child) for child in file.read().split()]
    return [pid] + own


def slope(points):
    """Least squares, per unit of the first coordinate."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def judge(history, seconds):
    warm = [(t, s) for t, s in history if t >= seconds / 3]
    early = [s for t, s in warm if t < 2 * seconds / 3]
    late = [s for t, s in warm if t >= 2 * seconds / 3]
    growth = slope([(t / 3600, s["rss_kib"] / 1024) for t, s in warm])
    most = lambda part, what: max(s[what] for s in part)
    return {
        "rss_mib": warm[-1][1]["rss_kib"] / 1024,
        "mib_per_hour": round(growth, 2),
        "threads": [most(early, "threads"), most(late, "threads")],
        "descriptors": [most(early, "descriptors"), most(late, "descriptors")],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--interval", type=float, default=5)
    parser.add_argument("--model", default="zoo:lenet5")
    parser.add_argument("--workers", type=int, default=5)
    for kind in KINDS:  # who is killed does not live long enough to be judged
        parser.add_argument(f"--{kind}", type=int, default=0 if kind == "kills" else 1)
    flags = parser.parse_args()
    command = [flags.shoal, "chaos", "--json", "--survive", "1", "--seed", "7"]
    for name in ("seconds", "model", "workers", *KINDS):
        command += [f"--{name}", str(getattr(flags, name))]
    began = time.monotonic()
    chaos = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    histories = {}
    while chaos.poll() is None:
        try:
            for pid in family(chaos.pid):
                held = sample(pid)
                histories.setdefault(pid, []).append((time.monotonic() - began, held))
        except (OSError, KeyError):
            pass  # one has just ended
        time.sleep(flags.interval)
    figures = json.loads(chaos.stdout.read())
    whole = [h for h in histories.values()
             if h[0][0] < flags.seconds / 3 and h[-1][0] > 0.95 * flags.seconds]
    processes = [judge(h, flags.seconds) for h in whole]
    report = {"command": command, "chaos": figures, "processes": processes,
              "worst_mib_per_hour": max(p["mib_per_hour"] for p in processes)}
    print(json.dumps(report))
    leaks = [p for p in processes for what in ("threads", "descriptors") if p[what][1] > p[what][0]]
    lost = figures["failed"] + figures["wrong"]
    sys.exit(1 if lost or leaks or report["worst_mib_per_hour"] > BAR_MIB_PER_HOUR else 0)


main()
