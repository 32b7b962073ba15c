#!/usr/bin/python3
"""Steps of training: Shoal against PyTorch, in turns.

bench/peers/train_race.py build/release/shoal [--models lenet5,convnet] [--threads 1,2] [--seconds 10]

Both stay open and warm, never run at the same time, and do the same: SGD with momentum on noise. The
ratio is PyTorch's time per step over Shoal's (median of the turns' medians). Peak memory is that of each
process; what PyTorch has after it is imported, before any network, is given beside it.
"""
import argparse
import contextlib
import json
import pathlib
import statistics

import machine
from engines import ROOT, Racer

# As the bars of the project name them; ResNet-20 is a file.
BATCHES = {"lenet5": 64, "convnet": 32, "resnet20": 64}
FILES = {"resnet20": ROOT.parent / "shared/models/resnet20-cifar10.onnx"}
TORCH = ["/usr/bin/python3", str(pathlib.Path(__file__).with_name("torch_training.py"))]
COLUMNS = ["network", "batch", "threads", "Shoal ms", "PyTorch ms", "ratio", "Shoal MB", "PyTorch MB",
           "imported", "of memory"]


def median(racer, key="median_ms"):
    return statistics.median(turn[key] for turn in racer.turns)


def race(flags, name, threads):
    batch = BATCHES[name]
    more = ("--train", "--batch", str(batch))
    as_train = ("--tune", "off")  # what `shoal train` does
    with contextlib.ExitStack() as stack:
        shoal = stack.enter_context(Racer([flags.shoal], FILES.get(name, f"zoo:{name}"), threads, *more, *as_train))
        torch = stack.enter_context(Racer(TORCH, name, threads, *more))
        for _ in range(flags.rounds):
            shoal.turn(flags.seconds / flags.rounds / 2)
            torch.turn(flags.seconds / flags.rounds / 2)
    shoal_mb, torch_mb = shoal.turns[-1]["peak_rss_mb"], torch.turns[-1]["peak_rss_mb"]
    return {"bench": "train_race", "network": name, "batch": batch, "threads": threads,
            "shoal_ms": median(shoal), "torch_ms": median(torch), "ratio": median(torch) / median(shoal),
            "shoal_mb": shoal_mb, "torch_mb": torch_mb, "imported_mb": torch.turns[-1]["imported_mb"],
            "memory_share": shoal_mb / torch_mb}


def line(row):
    cells = [row["network"], row["batch"], row["threads"], f"{row['shoal_ms']:.2f}",
             f"{row['torch_ms']:.2f}", f"{row['ratio']:.2f}", f"{row['shoal_mb']:.0f}",
             f"{row['torch_mb']:.0f}", f"{row['imported_mb']:.0f}", f"{row['memory_share']:.2f}"]
    return f"| {' | '.join(map(str, cells))} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shoal")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(BATCHES))
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--seconds", type=float, default=12, help="for each network, both together")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--json", action="store_true", help="one JSON line per race instead of a table")
    flags = parser.parse_args()
    facts = {"commit": machine.commit(), "machine": machine.describe()}
    if not flags.json:
        print(f"| {' | '.join(COLUMNS)} |\n|---|{'--:|' * (len(COLUMNS) - 1)}")
    for name in flags.models:
        if name in FILES and not FILES[name].exists():
            print(f"skipped: no {FILES[name].name}")
            continue
        for threads in flags.threads:
            row = race(flags, name, threads)
            print(json.dumps(facts | row) if flags.json else line(row), flush=True)


if __name__ == "__main__":
    main()
