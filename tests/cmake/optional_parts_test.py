#!/usr/bin/python3
"""Parts of a build (cmake/optional_parts.cmake) come and go with their packages, in the build folder that there is."""
import pathlib
import re
import shutil
import subprocess
import tempfile

PARTS = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "optional_parts.cmake"
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES NONE)
foreach(room SHOAL_DATA SHOAL_CLUSTER)
  set(${{room}} ON CACHE BOOL "")
endforeach()
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
include({PARTS})
foreach(part GRPC VIDEO MQTT OPENCL VULKAN AVAHI MPI PYTHON)
  message(STATUS "SHOAL_${{part}} is '${{SHOAL_${{part}}}}'")
endforeach()
"""
FILES = {"GRPC": ["include/grpcpp/grpcpp.h", "lib/libgrpc++.so", "lib/libgrpc.so", "lib/libgpr.so", "bin/grpc_cpp_plugin"],
         "VIDEO": [f"lib/pkgconfig/lib{name}.pc" for name in ("avformat", "avcodec", "swscale", "avutil")],
         "MQTT": ["include/mosquitto.h"],
         "OPENCL": ["include/CL/cl.h"],
         "VULKAN": ["include/vulkan/vulkan.h", "include/glslang/Include/glslang_c_interface.h",
                    "lib/libSPIRV-Tools-opt.so"],
         "AVAHI": ["include/avahi-client/client.h", "lib/libavahi-client.so", "lib/libavahi-common.so"]}


class Toy:
    """A project of parts only, and a folder in place of this machine's packages."""

    def __init__(self, folder):
        self.folder, self.packages = pathlib.Path(folder), pathlib.Path(folder) / "packages"
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        (self.packages / "lib" / "pkgconfig").mkdir(parents=True)

    def install(self, *parts):
        for file in (file for part in parts for file in FILES[part]):
            path = self.packages / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"Name: {path.stem}\nDescription: none\nVersion: 1\n" if path.suffix == ".pc" else "")
            path.chmod(0o755)

    def remove(self, *parts):
        for file in (file for part in parts for file in FILES[part]):
            (self.packages / file).unlink()

    def configure(self, *flags, fails=False):
        """The parts that are built, and what CMake said."""
        done = subprocess.run(
            ["cmake", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}", "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={self.packages}",
             "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF",
             f"-DPKG_CONFIG_EXECUTABLE={shutil.which('pkg-config')}", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=TRUE",
             "-DCMAKE_DISABLE_FIND_PACKAGE_pybind11=TRUE", *flags],
            env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_LIBDIR": str(self.packages / "lib" / "pkgconfig")},
            capture_output=True, text=True)
        said = " ".join((done.stdout + done.stderr).split())
        assert (done.returncode != 0) == fails, said
        values = dict(re.findall(r"SHOAL_(\w+) is '(\w*)'", said))
        assert fails or set(values.values()) <= {"ON", "OFF"}, values
        return {part for part, value in values.items() if value == "ON"}, said

    def lines(self):
        """parts.txt: what is said of each group of packages."""
        return dict(line.split(": ", 1) for line in (self.folder / "build" / "parts.txt").read_text().splitlines())


def test_parts_come_and_go_with_their_packages(toy):
    assert toy.configure()[0] == set()
    for line in (toy.lines()[group] for group in ("grpc", "video", "mqtt", "opencl", "vulkan", "avahi")):
        assert line.startswith("not built") and "make build" in line, line
    assert "libgrpc++" in toy.lines()["grpc"] and "tools/setup grpc" in toy.lines()["grpc"], toy.lines()
    for part in FILES:  # one at a time, in the folder that had none
        toy.install(part)
        assert part in toy.configure()[0], part
        assert toy.lines()[part.lower()].startswith("built"), toy.lines()
    assert toy.configure()[0] == set(FILES)
    for part in FILES:
        toy.remove(part)
        assert part not in toy.configure()[0], part
    toy.install(*FILES)
    assert toy.configure()[0] == set(FILES)


def test_a_part_that_is_asked_for_has_to_be_there(toy):
    said = toy.configure("-DSHOAL_GRPC=ON", fails=True)[1]
    assert "SHOAL_GRPC=ON" in said and "tools/setup grpc" in said, said
    toy.install("GRPC")
    assert toy.configure("-DSHOAL_GRPC=ON")[0] == {"GRPC"}
    toy.remove("GRPC")
    assert "libgrpc++" in toy.configure(fails=True)[1]
    assert toy.configure("-DSHOAL_GRPC=AUTO")[0] == set()


def test_a_part_that_is_refused_stays_out(toy):
    toy.install(*FILES)
    assert toy.configure("-DSHOAL_OPENCL=OFF", "-DSHOAL_AVAHI=0")[0] == set(FILES) - {"OPENCL", "AVAHI"}
    assert toy.configure()[0] == set(FILES) - {"OPENCL", "AVAHI"}, "until it is asked for"
    assert "SHOAL_OPENCL=OFF" in toy.lines()["opencl"] and "SHOAL_OPENCL=AUTO" in toy.lines()["opencl"], toy.lines()
    assert toy.configure("-DSHOAL_OPENCL=AUTO", "-DSHOAL_AVAHI=ON")[0] == set(FILES)


def test_what_was_found_once_and_kept_as_a_bool_is_looked_for_again(toy):
    toy.install(*FILES)
    assert toy.configure("-DSHOAL_GRPC:BOOL=OFF", "-DSHOAL_VIDEO:BOOL=OFF")[0] == set(FILES)


def test_builds_that_cannot_have_a_part_say_why(toy):
    toy.install(*FILES)
    assert toy.configure("-DSHOAL_SANITIZE=address")[0] == {"VIDEO", "MQTT", "AVAHI"}
    assert "sanitizers" in toy.lines()["opencl"], toy.lines()
    assert toy.configure("-DSHOAL_OPENCL=ON")[0] == {"VIDEO", "MQTT", "AVAHI", "OPENCL"}
    assert toy.configure("-DSHOAL_SANITIZE=", "-DSHOAL_DATA=OFF", "-DSHOAL_CLUSTER=OFF")[0] == {"OPENCL", "VULKAN"}
    assert "SHOAL_CLUSTER" in toy.lines()["avahi"], toy.lines()


def test_parts_that_are_off_by_default_are_looked_for_when_asked(toy):
    toy.configure()
    assert "make all" in toy.lines()["mpi"] and "SHOAL_MPI=AUTO" in toy.lines()["mpi"], toy.lines()
    assert toy.configure("-DSHOAL_MPI=AUTO", "-DSHOAL_PYTHON=AUTO")[0] == set()
    assert "missing: MPI" in toy.lines()["mpi"] and "pybind11" in toy.lines()["python"], toy.lines()
    assert "pybind11" in toy.configure("-DSHOAL_PYTHON=ON", fails=True)[1]


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                test(Toy(folder))
                print(f"ok {name}")


if __name__ == "__main__":
    main()
