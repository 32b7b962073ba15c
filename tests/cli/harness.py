"""What tests of the command line share: SCRIPT SHOAL [PART OF A TEST'S NAME]"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SHOAL = os.path.abspath(sys.argv[1])
TIMEOUT = 300  # seconds; what takes longer hangs, however busy the machine is


def shoal(*args, expect=0, cwd=None, env=None, stdin=None):
    done = subprocess.run([SHOAL, *map(str, args)], capture_output=True, text=True, cwd=cwd, input=stdin,
                          env={**os.environ, **(env or {})}, timeout=TIMEOUT)
    assert expect is None or done.returncode == expect, f"{args}: exit {done.returncode}, wanted {expect}\n{done.stderr}"
    return done


def wait_for(condition):
    """Asks every few milliseconds: what is waited for needs the cores, too."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


class Running:
    """A command that stays; ended by SIGTERM, it must end well."""

    def __init__(self, *args, env=None):
        self.process = subprocess.Popen([SHOAL, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})

    def line(self):
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=TIMEOUT)


def run_tests(tests):
    """Runs every test_* of a module's globals whose name contains the second argument."""
    failed = 0
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [(name, f) for name, f in tests.items() if name.startswith("test_") and wanted in name]
    for name, test in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
            except Exception as error:  # one failure does not hide the others
                failed += 1
                print(f"FAIL {name}: {error}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
