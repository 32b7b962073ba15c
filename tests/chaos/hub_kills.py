#!/usr/bin/env python3
"""Kills the hub of a training run at random instants, and sees that it ends with the weights of one that nobody killed.

usage: hub_kills.py SHOAL [--kills 20] [--seed 1] [--steps 60] [--codec 1bit]

The workers outlive the hub. The checkpoint has their codecs' errors, without which the weights would be others.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from coordinator_kills import Workers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
from digit_scripts import write_digits  # noqa: E402


TRIES = 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--codec", default="1bit")
    args = parser.parse_args()
    shoal, rng = args.shoal.resolve(), random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name, Workers(shoal, pathlib.Path(name)) as workers:
        tmp = pathlib.Path(name)
        write_digits(tmp / "data", 2000, 500)

        def command(out, *more):
            return [shoal, "train", "zoo:mlp", "--data", tmp / "data", "--format", "npy", "--cluster", "--all-workers",
                    "--fixed-shares", "--codec", args.codec, "--steps", str(args.steps), "--batch", "32", "--out", out,
                    "--checkpoint-every", "1", "--threads", "1", "--json", *more]

        def finish(out, *more):
            for _ in range(TRIES):  # on a busy machine a worker may not answer in time
                done = subprocess.run(command(out, *more), env=workers.env, capture_output=True, text=True, timeout=600)
                if done.returncode == 0:
                    return json.loads(done.stdout.splitlines()[-1])
            raise AssertionError(done.stderr)

        begin = time.monotonic()
        whole = finish(tmp / "whole.onnx")
        seconds = time.monotonic() - begin
        kills = runs = 0
        last = {}
        while kills < args.kills:
            out = tmp / f"killed{runs}.onnx"
            runs += 1
            while kills < args.kills:
                hub = subprocess.Popen(command(out, "--resume"), env=workers.env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
                time.sleep(rng.uniform(0, 0.8 * seconds))  # chance decides where it is then
                alive = hub.poll() is None
                hub.kill()
                hub.wait()
                kills += alive
                if not alive and hub.returncode == 0:
                    break
            last = finish(out, "--resume")
            assert last["weights_sha256"] == whole["weights_sha256"], (kills, last, whole)
            assert out.read_bytes() == (tmp / "whole.onnx").read_bytes()
    print(json.dumps({"kills": kills, "runs": runs, "codec": whole["codec"], "steps": whole["steps"],
                      "top1": last["top1"], "resumed_at": last["resumed_at"],
                      "weights_sha256": whole["weights_sha256"]}))


main()
