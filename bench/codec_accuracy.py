#!/usr/bin/env python3
"""What codecs cost in accuracy: networks that eight replicas train with one bit an element, by drive and by 1bit with and
without error feedback, beside the same with f32.

usage: codec_accuracy.py BENCH_REPLICAS --mnist DIR --cifar10 DIR [--epochs 10] [--seeds 1 2 3] [--networks lenet5 ...]
                         [--jobs 1] [--threads 1]

Needs nothing but that program and the data. --epochs is one number, or NETWORK=N for some networks. An epoch of LeNet
takes about a minute of one core; --jobs runs so many processes at once. A line for each run as it ends, then a table
with the mean of the seeds and the bars of goal B7. Runs that --log already has are not repeated, so that it can be
interrupted.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import threading

# The network, its data, and the points that 1 bit may cost. The longest first.
NETWORKS = {"convnet": ("cifar10", "cifar", 1.0), "lenet5": ("mnist", "idx", 0.1), "mlp": ("mnist", "idx", 0.3)}
# The codec, whether errors are carried along, and the networks that are trained so.
WAYS = {"f32": ("f32", True, NETWORKS), "drive": ("drive", True, NETWORKS), "1bit": ("1bit", True, NETWORKS),
        "1bit, no feedback": ("1bit", False, ["convnet"])}
LEAST_WITHOUT_FEEDBACK = 3.0  # points that it costs to carry nothing


class Log:
    """Results by what was run, kept in a file of lines."""

    def __init__(self, path):
        self.path, self.results, self.lock = path, {}, threading.Lock()
        if path and path.exists():
            for line in path.read_text().splitlines():
                key, result = json.loads(line)
                self.results[tuple(key)] = result

    def get(self, key, run):
        if key not in self.results:
            result = run()
            with self.lock:
                self.results[key] = result
                if self.path:
                    with self.path.open("a") as file:
                        file.write(json.dumps([key, result]) + "\n")
        return self.results[key]


def epochs_of(options, network):
    """As many as the last word that is about the network says."""
    words = [word.split("=") for word in options.epochs if "=" not in word or word.startswith(f"{network}=")]
    return int(words[-1][-1]) if words else 10


def train(options, network, way, seed):
    data, kind, _ = NETWORKS[network]
    codec, feedback, _ = WAYS[way]
    folder = options.mnist if data == "mnist" else options.cifar10
    words = [options.bench, network, folder, kind, options.workers, codec, epochs_of(options, network), seed]
    if not feedback or options.threads > 1:
        words += ["feedback" if feedback else "no-feedback", options.threads]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["codec"], result["feedback"]) == (codec, feedback), result
    print(json.dumps(result), flush=True)
    return result


def row(network, top1):
    """The means of a network, what one bit costs, and whether that is within its bar by drive, which auto chooses."""
    mean = {way: statistics.mean(values) for way, values in top1.items()}
    cost = {way: round(mean["f32"] - mean[way], 3) for way in ("drive", "1bit")}
    bar = NETWORKS[network][2]
    found = {"network": network, "top1": mean, "cost": cost, "bar": bar, "met": cost["drive"] <= bar}
    if "1bit, no feedback" in mean:
        found["cost_without_feedback"] = round(mean["1bit"] - mean["1bit, no feedback"], 3)
        found["feedback_is_live"] = found["cost_without_feedback"] >= LEAST_WITHOUT_FEEDBACK
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bench", type=pathlib.Path, help="bench_replicas")
    parser.add_argument("--mnist", type=pathlib.Path)
    parser.add_argument("--cifar10", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--epochs", nargs="+", default=["10"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--log", type=pathlib.Path, help="keeps the runs")
    options = parser.parse_args()
    log = Log(options.log)

    def top1_of(run):
        network, way, seed = run
        key = (*run, options.workers, epochs_of(options, network))
        return log.get(key, lambda: train(options, network, way, seed))["top1"]

    runs = [(network, way, seed) for network in NETWORKS if network in options.networks
            for seed in options.seeds for way, (_, _, networks) in WAYS.items() if network in networks]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip(runs, pool.map(top1_of, runs)))
    rows = []
    for network in options.networks:
        top1 = {}
        for (name, way, _), value in results.items():
            if name == network:
                top1.setdefault(way, []).append(value)
        rows.append(row(network, top1))
    print(json.dumps(rows))
    sys.exit(0 if all(one["met"] and one.get("feedback_is_live", True) for one in rows) else 1)


if __name__ == "__main__":
    main()
