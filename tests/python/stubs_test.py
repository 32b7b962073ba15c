"""The stubs name exactly what the module has, and the package passes its own type checker.

Usage: stubs_test.py PACKAGE_FOLDER
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = Path(sys.argv.pop()).resolve()


def run(*command):
    environment = {**os.environ, "MYPYPATH": str(FOLDER)}
    with tempfile.TemporaryDirectory() as scratch:  # mypy leaves a cache where it runs
        return subprocess.run(
            [sys.executable, "-m", *command], cwd=scratch, env=environment, capture_output=True, text=True
        )


class Stubs(unittest.TestCase):
    def test_stubs_agree_with_the_module(self):
        done = run("mypy.stubtest", "shoal", "--mypy-config-file", PROJECT / "pyproject.toml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_package_passes_the_type_checker(self):
        done = run("mypy", "--config-file", PROJECT / "pyproject.toml", "-p", "shoal")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
