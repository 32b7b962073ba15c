#!/usr/bin/python3
"""PyTorch behind Shoal's own command line: training steps, one measurement per line of standard input.

bench/peers/torch_training.py bench lenet5|convnet|resnet20 --batch B --threads N --turns --train
"""
import argparse
import json
import pathlib
import re
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/peers"))
import torch_networks

NETWORKS = {"lenet5": (torch_networks.lenet, (1, 28, 28)),
            "convnet": (torch_networks.convnet, (3, 32, 32)),
            "resnet20": (torch_networks.resnet20, (3, 32, 32))}


def stepper(name, batch):
    """What `shoal bench --train` does: SGD with momentum, on noise."""
    make, image = NETWORKS[name]
    torch.manual_seed(1)
    network = make()
    optimiser = torch.optim.SGD(network.parameters(), lr=1e-6, momentum=0.9)
    images, labels = torch.rand(batch, *image), torch.zeros(batch, dtype=torch.int64)

    def step():
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def time_steps(step, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def peak_rss_mb():
    """Of the whole process, so Python's and PyTorch's own memory are in it."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bench", choices=["bench"])
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--turns", action="store_true", required=True)
    parser.add_argument("--train", action="store_true", required=True)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    imported_mb = peak_rss_mb()
    step = stepper(flags.network, flags.batch)
    step()
    for line in sys.stdin:
        step()
        times = time_steps(step, float(line))
        print(json.dumps({"median_ms": statistics.median(times), "peak_rss_mb": peak_rss_mb(),
                          "imported_mb": imported_mb}), flush=True)


if __name__ == "__main__":
    main()
