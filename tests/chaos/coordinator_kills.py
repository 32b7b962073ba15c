#!/usr/bin/env python3
"""Kills the owner of a cluster at random instants, and sees that what it had said yes to is there.

usage: coordinator_kills.py SHOAL [--kills 200] [--seed 1]
"""
import argparse
import pathlib
import random
import subprocess
import tempfile
import time


def listed(shoal, folder):
    done = subprocess.run([shoal, "cluster", "list", "--dir", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line.split()[0] for line in done.stdout.splitlines() if "127.0.0.1" in line}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--kills", type=int, default=200)
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


if __name__ == "__main__":
    main()
