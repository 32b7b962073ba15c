#!/usr/bin/python3
"""Kills the hub of a training run again and again; what is learned is what a run learns that nobody disturbed.

usage: hub_kills.py SHOAL [--kills 20] [--workers 3] [--steps 60] [--codecs 1bit topk] [--seed 1] [--more local-steps 4]

Workers are processes that outlive the hub. The last line is a JSON object; the exit status is 1 where weights differ.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from coordinator_kills import Workers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
from digit_scripts import write_digits  # noqa: E402


class Training:
    def __init__(self, workers, folder, data, codec, steps, more):
        self.workers, self.checkpoint = workers, folder / f"{codec}.safetensors"
        self.first = self.checkpoint.with_suffix(".first")
        self.words = ["train", "zoo:lenet5", "--data", str(data), "--format", "npy", "--cluster", "--codec", codec,
                      "--steps", str(steps), "--batch", "32", "--seed", "3", "--json", "--checkpoint-every", "4", *more]

    def begin(self):
        """The first checkpoint, from which both runs go on: it has the plan, which depends on measured speeds."""
        process = self.workers.start(*self.resumed())
        while not self.checkpoint.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        os.link(self.checkpoint, self.first)

    def whole(self):
        undisturbed = self.checkpoint.with_suffix(".whole")
        os.link(self.first, undisturbed)
        return json.loads(self.workers.call(*self.resumed(undisturbed)).splitlines()[-1])

    def begin_anew(self):
        self.checkpoint.unlink()
        os.link(self.first, self.checkpoint)

    def resumed(self, checkpoint=None):
        return [*self.words, "--checkpoint", str(checkpoint or self.checkpoint), "--resume"]

    def kill_after(self, seconds):
        """Whether it was still running then."""
        process = self.workers.start(*self.resumed())
        time.sleep(seconds)  # chance decides where it is then, and every place must be right
        alive = process.poll() is None
        process.kill()
        process.wait()
        return alive

    def to_the_end(self):
        return json.loads(self.workers.call(*self.resumed()).splitlines()[-1])


def compare(workers, folder, data, codec, options, rng):
    training, kills = Training(workers, folder, data, codec, options.steps, options.more), options.kills
    training.begin()
    begin = time.monotonic()
    whole = training.whole()
    taken = time.monotonic() - begin
    done = 0
    while done < kills:
        if not training.kill_after(rng.uniform(0, 0.7 * taken)):
            training.begin_anew()  # all steps were done
        else:
            done += 1
    rest = training.to_the_end()
    print(f"{codec}: {kills} kills, whole {whole['weights_sha256'][:8]}, resumed at {rest['resumed_at']} "
          f"{rest['weights_sha256'][:8]}, workers {whole['workers_used']} and {rest['workers_used']}, lost "
          f"{whole['workers_lost']} and {rest['workers_lost']}", file=sys.stderr)
    return {"codec": codec, "kills": kills, "resumed_at": rest["resumed_at"], "workers": rest["workers_used"],
            "equal": whole["weights_sha256"] == rest["weights_sha256"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shoal", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--codecs", nargs="+", default=["1bit", "topk"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--more", nargs="+", default=[], help="further flags of train, without their dashes")
    options = parser.parse_args()
    options.more = [word if word[0].isdigit() else f"--{word}" for word in options.more]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        data = folder / "digits"
        write_digits(data, 500, 100)
        names = [f"worker-{i}" for i in range(options.workers)]
        with Workers(str(options.shoal.resolve()), folder, names) as workers:
            rng = random.Random(options.seed)
            results = [compare(workers, folder, data, codec, options, rng) for codec in options.codecs]
    print(json.dumps(results))
    sys.exit(0 if all(result["equal"] for result in results) else 1)


if __name__ == "__main__":
    main()
