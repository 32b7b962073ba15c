#!/usr/bin/python3
"""Instructions per multiply-accumulate of the main kernels on 64-bit ARM, from their machine code.

Usage: arm_instructions.py BUILD_FOLDER    (build/cross-aarch64; needs the packages of tools/setup arm-bench)

Counts the instructions of one iteration of each kernel's inner loop, by llvm-objdump, and lets llvm-mca
estimate its cycles on CPUs whose tables LLVM has. Writes docs/measurements/data/arm_instructions.json.
"""
import heapq
import json
import pathlib
import re
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "measurements" / "data" / "arm_instructions.json"
FEATURES = "-mattr=+dotprod,+i8mm"
CPUS = {"cortex-a55": "Cortex-A55", "cortex-a72": "Cortex-A72"}


class Kernel(typing.NamedTuple):
    name: str
    tile: str
    source: str
    function: str  # demangled, up to its arguments
    instruction: str  # that multiplies and adds
    macs: int  # of one such
    count: int  # of such in an iteration
    cpus: tuple  # that have all of its instructions


# The largest tile of each, for pixels that lie side by side.
CONV, PRODUCT, ROWS, BYTES = ("conv_loops/conv_tile.cc", "product/product_tiles.cc", "conv/blocked_rows.cc",
                              "quantized/byte_tile.cc")
KERNELS = [
    Kernel("convolution, f32", "7 pixels × 12 channels", CONV, "convolve_tile<7, 3, 4>", "fmla", 4, 84, tuple(CPUS)),
    Kernel("matrix product, f32", "8 × 12", PRODUCT, "multiply_tile<8, 3>", "fmla", 4, 24, tuple(CPUS)),
    Kernel("depthwise 3 × 3, f32", "6 pixels × 4 channels", ROWS, "convolve_rows", "fmla", 4, 18, tuple(CPUS)),
    Kernel("convolution, int8, NEON", "7 pixels × 12 channels", BYTES, "PairDot>::convolve<7, 3, 4>", "smlal2?", 4, 84,
           tuple(CPUS)),
    Kernel("convolution, int8, dotprod", "8 pixels × 12 channels", BYTES, "QuadDot>::convolve<8, 3, 4>", "sdot", 16, 24,
           ("cortex-a55",)),
    Kernel("convolution, int8, i8mm", "8 pixels × 12 channels", BYTES, "OctetTile::convolve<8, 3, 4>", "usmmla", 32, 24,
           ()),
]


def output_of(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **more).stdout


def instructions_of(code, function):
    """[(address, text)] of the function in the output of llvm-objdump."""
    found = re.findall(rf"^[0-9a-f]+ <[^\n]*{re.escape(function)}\([^\n]*>:\n((?:[^\n]+\n)+)", code, re.M)
    if len(found) != 1:
        sys.exit(f"{len(found)} functions are called {function}")
    lines = re.findall(r"^\s*([0-9a-f]+):\s+(.*?)\s*(?://.*)?$", found[0], re.M)
    return [(int(address, 16), text) for address, text in lines]


def blocks_of(instructions):
    """{first address: (instructions, addresses of blocks that may follow)}, by straight pieces of code."""
    target = {at: int(found[1], 16) for at, text in instructions
              if (found := re.match(r"(?:b\.\w+|cbn?z|tbn?z|b)\s.*?0x([0-9a-f]+) <", text))}
    ends = {at for at, text in instructions if at in target or re.match(r"ret|br\s", text)}
    starts = {instructions[0][0], *target.values(), *(at + 4 for at in ends)}
    blocks = {}
    for at, text in instructions:
        if at in starts:
            body, after = blocks[at] = ([], [])
        body.append(text)
        if at in target:
            after.append(target[at])
        if at + 4 in starts and not re.match(r"(ret|br|b)\s*(\s|$)", text):
            after.append(at + 4)
    return blocks


def iteration_of(blocks, kernel):
    """The instructions of the shortest way from the block that multiplies around to itself."""
    multiply = re.compile(rf"{kernel.instruction}\s")
    found = []
    for home, (own, _) in blocks.items():
        if sum(multiply.match(text) is not None for text in own) != kernel.count:
            continue
        ways, seen = [(len(own), home, own)], set()
        while ways:
            length, at, way = heapq.heappop(ways)
            for next_at in blocks[at][1]:
                if next_at == home:
                    found.append(way)
                elif next_at in blocks and next_at not in seen:
                    seen.add(next_at)
                    body = blocks[next_at][0]
                    heapq.heappush(ways, (length + len(body), next_at, way + body))
    if not found:
        sys.exit(f"{kernel.function}: no loop has {kernel.count} of {kernel.instruction}")
    return min(found, key=len)


def cycles_of(body, cpu):
    """Cycles that an iteration takes, on average of many."""
    text = "loop:\n" + "\n".join(re.sub(r"0x[0-9a-f]+ <.*>", "loop", line) for line in body)
    iterations = 200
    seen = output_of("llvm-mca", "-mtriple=aarch64", f"-mcpu={cpu}", FEATURES, f"-iterations={iterations}", input=text)
    return int(re.search(r"Total Cycles:\s+(\d+)", seen)[1]) / iterations


def row_of(build, kernel):
    file = build / "districts/engine/CMakeFiles/shoal_engine_cpu.dir/cpu" / f"{kernel.source}.o"
    code = output_of("llvm-objdump", "-d", "-C", "--no-show-raw-insn", FEATURES.replace("-m", "--m", 1), file)
    body = iteration_of(blocks_of(instructions_of(code, kernel.function)), kernel)
    macs = kernel.count * kernel.macs
    spilled = sum("[sp" in text for text in body)
    per_cycle = [f"{macs / cycles_of(body, cpu):.1f}" if cpu in kernel.cpus else "" for cpu in CPUS]
    return [kernel.name, kernel.tile, str(len(body)), str(kernel.count), str(spilled), str(macs),
            f"{len(body) / macs:.3f}", *per_cycle]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1])
    columns = ["kernel", "tile", "instructions", "of these multiply", "of these on the stack", "MACs",
               "instructions per MAC", *(f"MACs per cycle, {name}" for name in CPUS.values())]
    compiler = output_of("aarch64-linux-gnu-g++", "-dumpfullversion").strip()
    llvm = re.search(r"version ([\d.]+)", output_of("llvm-mca", "--version"))[1]
    data = {
        "page": "engine",
        "title": "Instructions per multiply-accumulate on 64-bit ARM",
        "order": 60,
        "command": ["cmake --preset cross-aarch64 && cmake --build --preset cross-aarch64 --target shoal_cpu",
                    "bench/arm_instructions.py build/cross-aarch64"],
        "columns": [{"name": name, "align": "left" if i < 2 else "right"} for i, name in enumerate(columns)],
        "rows": [row_of(build, kernel) for kernel in KERNELS],
        "remark": f"One iteration of the innermost loop as g++ {compiler} compiles it. Cycles are estimated by "
                  f"llvm-mca {llvm}, which knows no cache; no ARM machine was at hand.",
        "notes": [
            "Tables for the Cortex-A72 are those of the Cortex-A57, and llvm-mca has none of a CPU with i8mm.",
            "The loops around it, over rows of taps and blocks of input channels, are not counted.",
        ],
    }
    text = json.dumps(data, indent=1, ensure_ascii=False)
    DATA.write_text(re.sub(r"\n {3,}|\n {2}(?=[\]}])", " ", text) + "\n")


if __name__ == "__main__":
    main()
