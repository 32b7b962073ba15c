"""Builds the compiled module of the Python package with CMake; pyproject.toml says the rest.

SHOAL_CMAKE_BUILD names a build folder configured with SHOAL_PYTHON=ON whose module is to be taken.
Without it, everything is compiled in build/wheel, where all that is left behind goes.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "wheel"


def version():
    """That of CMakeLists.txt, which is the only place that says it."""
    return re.search(r"project\(shoal VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        folder = os.environ.get("SHOAL_CMAKE_BUILD")
        if folder is None:
            folder = BUILD / "cmake"
            configure = ["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"]
            configure += ["-DSHOAL_PYTHON=ON", "-DSHOAL_TESTS=OFF"]
            configure += [f"-DPython_EXECUTABLE={sys.executable}"]
            configure += ["-GNinja"] if shutil.which("ninja") else []
            subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "shoal_python"], check=True)
        made = Path(folder) / "python" / "shoal" / Path(self.get_ext_filename(ext.name)).name
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(made, target)


BUILD.mkdir(parents=True, exist_ok=True)
setup(
    options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}},
    version=version(),
    ext_modules=[Extension("shoal._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
