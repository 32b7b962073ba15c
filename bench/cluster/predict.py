#!/usr/bin/python3
"""Predicted against measured: predict.py SHOAL [--seconds S] [--report].

Plans models for emulated clusters, runs the plans on real processes over slowed links, and compares
what was predicted with what was measured. A machine that does nothing else; about ten minutes.
"""
import argparse
import itertools
import json
import statistics
import subprocess
import sys

MODELS = ["lenet5", "mobilenetv2", "resnet18", "alexnet", "tinyyolov2", "squeezenet", "encoder"]
CLUSTERS = [(2, "nexus5", "wifi-43.8"), (4, "nexus5", "wifi-94"), (3, "pi3", "wifi-32"), (4, "pi3", "ethernet-100"),
            (2, "pi4", "ethernet-100"), (4, "pi4", "gigabit"), (8, "pi4", "gigabit"), (3, "pi5", "gigabit"),
            (6, "nexus5x", "ethernet-100")]
HEAVY = [("vgg16", (4, "nexus5", "wifi-43.8"))]
SECONDS_PER_RUN = 0.4  # at least, so that this machine's own delays are small beside it


def flags_of(cluster):
    workers, device, link = cluster
    return ["--workers", str(workers), "--device", device, "--link", link]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def dilation_for(shoal, model, cluster):
    """What is emulated takes so long, and this machine has the time to be all devices at once."""
    simulated = run([shoal, "simulate", f"zoo:{model}", *flags_of(cluster), "--json"])
    workers, device, _ = cluster
    speed = {"pi3": 2, "pi4": 5, "pi5": 16, "nexus5": 1, "nexus5x": 0.4}[device]  # giga-MACs per second
    return max(1.0, 1e3 * SECONDS_PER_RUN / simulated["cluster_ms"], workers * speed / 15)


def measure(shoal, model, cluster):
    """None where this machine was too busy, although the bench went slower for it."""
    result = run([shoal, "emulate", *flags_of(cluster), "--dilate", f"{dilation_for(shoal, model, cluster):.3g}", "--",
                  "bench", f"zoo:{model}", "--cluster", "--seconds", "0", "--json"])
    if not isinstance(result, dict):
        sys.exit(f"{model} on {cluster}: {result}")
    return result if result["lateness"] <= 0.05 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--models", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    cases = list(itertools.product(arguments.models, CLUSTERS)) + HEAVY
    errors, slower = [], []
    print("| model | cluster | one ms | predicted ms | measured ms | error | speed-up |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for model, cluster in cases:
        result = measure(arguments.shoal, model, cluster)
        name = f"| {model} | {cluster[0]} x {cluster[1]}, {cluster[2]} |"
        if result is None:
            print(name, "this machine was too busy | | | | |", flush=True)
            continue
        error = result["predicted_ms"] / result["cluster_ms"] - 1
        errors.append(abs(error))
        slower.append(result["cluster_ms"] / result["single_ms"])
        print(name, f"{result['single_ms']:.1f} | {result['predicted_ms']:.1f} | {result['cluster_ms']:.1f} |"
              f" {100 * error:+.1f} % | {result['speedup']:.2f} |", flush=True)
    errors.sort()
    print(f"\n{len(errors)} cases: median error {100 * statistics.median(errors):.1f} %,"
          f" p95 {100 * errors[int(0.95 * (len(errors) - 1))]:.1f} %;"
          f" slowest against one worker {max(slower):.3f}")


main()
