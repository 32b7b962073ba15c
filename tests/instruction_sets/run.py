#!/usr/bin/python3
"""All tests of a build, once for every instruction set that this machine has.

Usage: run.py BUILD_FOLDER [CTEST_ARGUMENT...]

A small library loaded before every program hides the better sets from it. Takes as many times as
long as the tests do, so it is run by hand and not with them.
"""
import os
import pathlib
import subprocess
import sys

# These choose instruction sets themselves, and find those that are hidden from the others.
LEFT_OUT = "^InstructionSet\\.|^PackedCacheTest.BelievesNoFileOfAnotherInstructionSet$"


def instruction_sets(build):
    """What `shoal doctor` finds, the best first."""
    found = subprocess.run([build / "shoal", "doctor"], stdout=subprocess.PIPE, text=True, check=True)
    (line,) = [line for line in found.stdout.splitlines() if line.startswith("vector targets")]
    return line.split()[2:]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    limit = next(build.rglob("libinstruction_set_limit.so"))
    failed = []
    for name in instruction_sets(build):
        print(f"== {name}", flush=True)
        environment = dict(os.environ, LD_PRELOAD=str(limit), SHOAL_INSTRUCTION_SET=name)
        seen = subprocess.run([build / "shoal", "doctor"], env=environment, stdout=subprocess.PIPE, text=True)
        if f"vector targets  {name}" not in seen.stdout:
            sys.exit(f"{name} is not the best set that programs find")
        command = ["ctest", "--test-dir", build, "--output-on-failure", "-E", LEFT_OUT, *sys.argv[2:]]
        done = subprocess.run(command, env=environment)
        if done.returncode != 0:
            failed.append(name)
    if failed:
        sys.exit(f"tests fail with {', '.join(failed)}")


if __name__ == "__main__":
    main()
