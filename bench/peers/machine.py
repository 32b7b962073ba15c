"""What the figures were measured on."""
import json
import os
import pathlib
import platform
import re
import subprocess

from engines import ROOT


def commit():
    call = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(call, capture_output=True, text=True).stdout.strip() or "unknown"


def ort_version():
    package = json.loads((ROOT / "tests/peers/package.json").read_text())
    return package["dependencies"]["onnxruntime-node"]


def cpu():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    known = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_vnni": "VNNI", "asimd": "NEON",
             "asimddp": "dot product"}
    has = [known[flag] for flag in (flags[1].split() if flags else ()) if flag in known]
    return f"{name[1] if name else platform.machine()} ({', '.join(has)})"


def describe():
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return f"{os.cpu_count()} cores of an {cpu()}, {memory / 2**20:.0f} GiB, {system}"
