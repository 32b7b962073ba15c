"""`pip install .` without a network: builds a wheel, installs it elsewhere and asks it something.

Usage: wheel_test.py CMAKE_BUILD_FOLDER
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop()).resolve()

PROGRAM = """
import numpy as np, shoal
session = shoal.Session("zoo:lenet5")
print(shoal.__file__, session.run({"input": np.zeros((1, 1, 28, 28), np.float32)})["output"].shape)
"""


def pip(*arguments):
    environment = {**os.environ, "SHOAL_CMAKE_BUILD": str(BUILD)}
    command = [sys.executable, "-m", "pip", *arguments, "--no-deps", "--no-index"]
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


class Wheel(unittest.TestCase):
    def test_an_installed_wheel_answers(self):
        with tempfile.TemporaryDirectory() as scratch:
            pip("wheel", "--no-build-isolation", "--wheel-dir", scratch, str(PROJECT))
            (wheel,) = Path(scratch).glob("shoal-*.whl")
            self.assertRegex(wheel.name, r"cp3\d+-cp3\d+-linux")
            site = Path(scratch) / "site"
            pip("install", "--target", str(site), str(wheel))
            self.assertTrue((site / "shoal" / "py.typed").exists())
            self.assertTrue((site / "shoal" / "_core.pyi").exists())
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                cwd=scratch,
                env={**os.environ, "PYTHONPATH": str(site)},
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.stdout, f"{site}/shoal/__init__.py (1, 10)\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
