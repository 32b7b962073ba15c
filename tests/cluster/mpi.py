#!/usr/bin/python3
"""The same plan over MPI, and training by ranks: mpi.py SHOAL. 77: there is no mpirun."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

SHOAL = os.path.abspath(sys.argv[1])


def mpirun(ranks, *words, expect=0):
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), SHOAL, *map(str, words)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == expect, f"{words}: exit {done.returncode}\n{done.stderr}"
    return done


def train_alike(folder):
    """However many ranks learn, the weights are those of one process, bit by bit."""
    random = np.random.default_rng(2)
    for part in ("train", "test"):
        np.save(folder / f"{part}-images.npy", random.integers(0, 255, (64, 28, 28), np.uint8))
        np.save(folder / f"{part}-labels.npy", random.integers(0, 10, 64))
    words = ["train", "zoo:lenet5", "--data", folder, "--format", "npy", "--cluster", "mpi", "--steps", 5,
             "--batch", 32, "--threads", 1, "--json"]
    alone = subprocess.run([SHOAL, *map(str, words)], check=True, capture_output=True, text=True)
    wanted = json.loads(alone.stdout.splitlines()[-1])
    for ranks in (3, 4):  # uneven shares, and even ones
        seen = json.loads(mpirun(ranks, *words).stdout.splitlines()[-1])
        assert seen["workers_used"] == ranks and seen["steps"] == 5, seen
        assert seen["weights_sha256"] == wanted["weights_sha256"], (ranks, seen, wanted)
    coded = {json.loads(mpirun(2, *words, "--codec", "1bit").stdout.splitlines()[-1])["weights_sha256"] for _ in range(2)}
    assert len(coded) == 1 and wanted["weights_sha256"] not in coded, coded
    failed = mpirun(2, *words, "--limit", 8, expect=2)
    assert "not enough examples" in failed.stderr, failed.stderr


def main():
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "x.npy", np.random.default_rng(1).random((1, 1, 28, 28), np.float32))
        inputs = ["zoo:lenet5", "--input", folder / "x.npy", "--save"]
        subprocess.run([SHOAL, "run", *map(str, inputs), str(folder / "here")], check=True, capture_output=True)
        for split in ("rows", "channels", "inputs"):
            there = folder / split
            mpirun(4, "run", *inputs, there, "--cluster", "mpi", "--split", split)
            for path in (folder / "here").glob("*.npy"):
                np.testing.assert_allclose(np.load(there / path.name), np.load(path), rtol=0, atol=1e-4)
        train_alike(folder)
    result = json.loads(mpirun(3, "bench", "zoo:lenet5", "--cluster", "mpi", "--split", "rows", "--seconds", 0, "--json").stdout)
    assert [worker["name"] for worker in result["workers"]] == ["rank 1", "rank 2"]
    assert "one rank" in mpirun(1, "run", "--cluster", "mpi", expect=5).stderr
    print("passed")


main()
