#!/usr/bin/python3
"""The same plan over MPI: mpi.py SHOAL. 77: there is no mpirun."""
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
    result = json.loads(mpirun(3, "bench", "zoo:lenet5", "--cluster", "mpi", "--split", "rows", "--seconds", 0, "--json").stdout)
    assert [worker["name"] for worker in result["workers"]] == ["rank 1", "rank 2"]
    assert "one rank" in mpirun(1, "run", "--cluster", "mpi", expect=5).stderr
    print("passed")


main()
