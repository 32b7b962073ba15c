"""The engines that race, each behind the same command line, as children that take turns."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORT = ["node", str(ROOT / "tests/peers/ort.mjs")]
# Worker threads spin for a while after their last run. Nobody starts before they have gone to sleep.
SETTLE_SECONDS = 0.05


def skip(message):
    """What is needed is not here: says so as ctest wants it."""
    print(f"skipped: {message}", file=sys.stderr)
    sys.exit(77)


def need_ort():
    if not (ROOT / "tests/peers/node_modules").is_dir() or shutil.which("node") is None:
        skip("ONNX Runtime is not installed (tools/setup peers)")


def ask(program, *args, env=None):
    """The JSON lines that a program prints."""
    call = [*program, *map(str, args)]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **(env or {})})
    return [json.loads(line) for line in done.stdout.splitlines()]


class Racer:
    """One engine with one model, open and warm, that runs only while it has its turn."""

    def __init__(self, program, model, threads, *flags):
        call = [*program, "bench", str(model), "--threads", str(threads), "--turns", *flags]
        self.child = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.turns = []
        self.turn(0)  # opened and warmed up before anyone else starts
        self.turns.clear()

    def turn(self, seconds):
        self.child.stdin.write(f"{seconds}\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.child.args)} ended with exit code {self.child.wait()}")
        self.turns.append(json.loads(line))
        time.sleep(SETTLE_SECONDS)

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Peak:
    """The machine's fp32 peak on some threads: the best of what was seen between turns."""

    def __init__(self, program, threads):
        self.call = [[str(program)], threads]
        self.gflops = 0.0

    def measure(self):
        self.gflops = max(self.gflops, ask(*self.call)[0]["gflops"])
