"""What is measured beside the race: how the cost grows, how soon the first answer comes, and the
matrix product. Each check gives JSON objects with what was measured and the bar it is held to."""
import contextlib
import statistics

import onnx

import models
import start
from engines import Racer, ask

# Pixels at 1, 2 and 4 times ResNet-18's own, then batches.
GROWTH_SHAPES = ["1x3x224x224", "1x3x224x448", "1x3x448x448", "2x3x224x224", "4x3x224x224",
                 "8x3x224x224", "16x3x224x224"]


def open_sizes(file):
    """The same network for any batch, height and width."""
    model = onnx.load(file)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis, name in ((0, "n"), (2, "h"), (3, "w")):
        dims[axis].dim_param = name
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
    del model.graph.value_info[:]
    opened = file.with_name(f"open-{file.name}")
    onnx.save(model, opened)
    return opened, model.graph.input[0].name


def growth(flags, folder, threads):
    file, name = open_sizes(models.write_zoo(flags.shoal, "resnet18", folder))
    shapes = [("--shape", f"{name}={shape}") for shape in GROWTH_SHAPES]
    with contextlib.ExitStack() as stack:
        racers = [stack.enter_context(Racer(flags.shoal, file, threads, *shape)) for shape in shapes]
        for _ in range(flags.rounds):
            for racer in racers:
                racer.turn(flags.seconds / flags.rounds / 4)
    costs = {}  # picoseconds per MAC
    for shape, flag, racer in zip(GROWTH_SHAPES, shapes, racers):
        median = statistics.median(turn["median_ms"] for turn in racer.turns)
        costs[shape] = round(1e9 * median / models.macs(flags.shoal, file, *flag), 2)
    return {"bench": "growth", "model": "resnet18", "threads": threads, "ps_per_mac": costs,
            "worst_to_best": round(max(costs.values()) / min(costs.values()), 3), "bar": "<= 1.25"}


def product(flags):
    sizes = ask([str(flags.build / "bench_gemm")], 1)
    return next(size for size in sizes if size["n"] == 1024) | {"bar": "share >= 0.8"}


def run(flags, folder):
    yield product(flags)
    for threads in flags.threads:
        yield growth(flags, folder, threads)
    yield start.measure(flags.shoal, folder, max(flags.threads), 2 if flags.quick else 5)
