#!/usr/bin/env python3
"""Kills the owner of a cluster at random instants, and sees that what it had said yes to is there.

usage: coordinator_kills.py SHOAL [--kills 200] [--runs 200] [--seed 1]

Commands that change the list of workers are killed first, then coordinators that measure, plan, deploy and answer.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time


def listed(shoal, folder):
    done = subprocess.run([shoal, "cluster", "list", "--dir", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line.split()[0] for line in done.stdout.splitlines() if "127.0.0.1" in line}


class Workers:
    """Some of them on this machine, which outlive whoever coordinates."""

    def __init__(self, shoal, tmp, names=("kitchen", "hall")):
        self.shoal, self.cache, self.processes = shoal, tmp / "cache", []
        self.env = {**os.environ, "SHOAL_CLUSTER_DIR": str(tmp / "cluster"), "XDG_CACHE_HOME": str(self.cache)}
        self.call("cluster", "init")
        for name in names:
            invite = self.start("cluster", "invite", "--listen", "127.0.0.1:0")
            worker = self.start("worker", "--dir", str(tmp / name), "--name", name, "--listen", "127.0.0.1:0", "--threads",
                                "1", "--join", invite.stdout.readline().strip())
            self.call("cluster", "add", name, worker.stdout.readline().split()[2])

    def call(self, *words):
        done = subprocess.run([self.shoal, *words], env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def start(self, *words):
        process = subprocess.Popen([self.shoal, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True)
        self.processes.append(process)
        return process

    def are_idle(self):
        return not any(device["plans"] for device in json.loads(self.call("devices", "--json")))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def kill_runs(shoal, tmp, kills, rng):
    """The digits in the binary, on ten samples: whoever is started again gives the same answers."""
    with Workers(shoal, tmp) as workers:
        def digits():
            return [row["digit"] for row in json.loads(workers.call("run", "--cluster", "--json"))]

        answers, restarts = digits(), []
        for _ in range(kills):
            begin = time.monotonic()
            assert digits() == answers
            restarts.append(time.monotonic() - begin)
            process = workers.start("run", "--cluster", "--json")
            try:
                process.wait(timeout=rng.uniform(0, statistics.median(restarts)))
            except subprocess.TimeoutExpired:
                pass
            if rng.random() < 0.2:  # now and then all is made anew
                for path in (workers.cache / "shoal").glob("*"):
                    path.unlink()
            process.kill()
            process.wait()
        assert digits() == answers
        while not workers.are_idle():
            pass
        left = [path.name for path in (workers.cache / "shoal").iterdir() if path.name.endswith(".part")]
        assert len(left) <= 1, f"what killed ones left half written: {left}"
        print(f"{kills} coordinators killed: those after them answered {1e3 * statistics.median(restarts):.0f} ms after "
              f"they were started, {1e3 * max(restarts):.0f} ms at most, connecting to workers included")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    rng = random.Random(flags.seed)
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp) / "cluster"
        subprocess.run([flags.shoal, "cluster", "init", "--dir", folder], check=True, capture_output=True)
        begin = time.monotonic()
        subprocess.run([flags.shoal, "cluster", "add", "first", "127.0.0.1:7070", "--dir", folder], check=True,
                       capture_output=True)
        usual = time.monotonic() - begin
        known, killed, count = {"first"}, 0, 0
        while killed < flags.kills:
            count += 1
            # Names leave again, so that the list stays short.
            name = rng.choice(sorted(known)) if len(known) > 20 else f"w{count}"
            verb = ["remove", name] if name in known else ["add", name, f"127.0.0.1:{7071 + count % 1000}"]
            process = subprocess.Popen([flags.shoal, "cluster", *verb, "--dir", folder], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=rng.uniform(0, 1.5 * usual))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
            after = known ^ {name}
            now = listed(flags.shoal, folder)
            if process.returncode == 0:
                assert now == after, (verb, "was said to be done")
            assert now in (known, after), (verb, known, now)
            known = now
        subprocess.run([flags.shoal, "cluster", "add", "last", "127.0.0.1:7070", "--dir", folder], check=True,
                       capture_output=True)
        left = [path.name for path in folder.iterdir() if path.is_file()]
        assert not [name for name in left if name.endswith(".part")], "what killed commands left half written"
        print(f"{killed} kills in {count} commands: every list whole, nothing lost that was done; files: {sorted(left)[:9]}")
        kill_runs(flags.shoal, pathlib.Path(tmp) / "runs", flags.runs, rng)


if __name__ == "__main__":
    main()
