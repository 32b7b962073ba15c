#!/usr/bin/python3
"""Training that is killed again and again ends with the weights of training that was not; bad data,
bad rates and a full disk are one clear error, and leave the last checkpoint as it was.

Usage: resume.py SHOAL [--kills N]
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from digit_scripts import needs, run, write_digits

(np,) = needs("numpy")

EPOCHS, EXAMPLES = 3, 1000
PLAIN = ["--batch", "20"]
NARROW = ["--batch", "64", "--rate", "0.005", "--bf16"]  # large enough to be kept so


class Training:
    """Calls of shoal train in one folder, with some flags."""

    def __init__(self, shoal, folder, data, flags=PLAIN):
        self.shoal, self.folder, self.data, self.flags = shoal, folder, data, flags
        folder.mkdir(exist_ok=True)

    def command(self, *more):
        return [self.shoal, "train", "zoo:mlp", "--data", self.data, "--format", "npy", "--epochs",
                str(EPOCHS), "--shift", "1", "--noise", "0.05", "--optimizer", "adam",
                "--checkpoint-every", "7", "--threads", "1", "--tune", "off", "--json",
                "--out", self.folder / "out.onnx", *self.flags, *more]

    def run(self, *more):
        return run(*self.command(*more))

    def run_and_kill(self, after):
        """Whether it was still running then."""
        process = subprocess.Popen(self.command("--resume"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(after)  # chance decides where it is then, and every place must be right
        alive = process.poll() is None
        process.kill()
        process.wait()
        return alive

    def weights(self):
        return (self.folder / "out.onnx").read_bytes()

    def checkpoint(self):
        return (self.folder / "out.safetensors").read_bytes()


def killed_training_ends_the_same(shoal, at, data, kills, flags=PLAIN):
    whole = Training(shoal, at / "whole", data, flags)
    begin = time.monotonic()
    result = whole.run()
    seconds = time.monotonic() - begin
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout.splitlines()[-1])
    assert answer["epochs"] == EPOCHS and answer["top1"] > 50, answer
    rng, killed = random.Random(1), 0
    while killed < kills:
        shutil.rmtree(at / "killed", ignore_errors=True)
        torn = Training(shoal, at / "killed", data, flags)
        while killed < kills and torn.run_and_kill(rng.uniform(0, 0.7 * seconds)):
            killed += 1
        result = torn.run("--resume")
        assert result.returncode == 0, result.stderr
        assert torn.weights() == whole.weights(), f"other weights after {killed} kills"
    print(f"ok   killed {killed} times, the same weights: {' '.join(flags)}")


def must_fail(training, wanted, *more):
    before = training.checkpoint()
    result = training.run(*more)
    assert result.returncode != 0, f"passed: {more}"
    assert len(result.stderr.strip().splitlines()) <= EPOCHS + 2, result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert wanted in last, last
    assert training.checkpoint() == before, f"the checkpoint is another: {last}"
    print(f"ok   {last}")


def errors_are_clear(shoal, at, data):
    training = Training(shoal, at / "whole", data)
    must_fail(training, "made with", "--resume", "--seed", "2")
    must_fail(training, "no number", "--rate", "1e30")
    bad = at / "bad"
    shutil.copytree(data, bad)
    labels = np.load(bad / "train-labels.npy")
    labels[17] = 10
    np.save(bad / "train-labels.npy", labels)
    broken = Training(shoal, at / "broken", bad)
    failed = broken.run()
    last = failed.stderr.strip().splitlines()[-1]
    assert failed.returncode != 0 and "train-labels.npy at byte 264: label 10" in last, last
    print(f"ok   {last}")
    repaired = Training(shoal, at / "broken", data).run("--resume")
    assert repaired.returncode == 0, repaired.stderr
    skipping = broken.run("--damaged", "skip")
    assert skipping.returncode == 0 and "skipped: " in skipping.stderr, skipping.stderr
    (bad / "train-labels.npy").unlink()
    must_fail(broken, "train-labels.npy")
    damaged = bytearray(training.checkpoint())
    damaged[-1] ^= 1
    (training.folder / "out.safetensors").write_bytes(damaged)
    must_fail(training, "checksum", "--resume")


def a_full_disk_is_told(shoal, at, data):
    training = Training(shoal, at / "whole", data)
    must_fail(training, "/dev/full", "--checkpoint", "/dev/full")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--kills", type=int, default=6)
    arguments = parser.parse_args()
    shoal = str(pathlib.Path(arguments.shoal).resolve())
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        data = at / "data"
        write_digits(data, EXAMPLES, 200)
        killed_training_ends_the_same(shoal, at, data, 1, NARROW)
        must_fail(Training(shoal, at / "whole", data, NARROW[:-1]), "made with bf16 true", "--resume")
        killed_training_ends_the_same(shoal, at, data, arguments.kills)
        errors_are_clear(shoal, at, data)
        a_full_disk_is_told(shoal, at, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
