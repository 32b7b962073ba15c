#!/usr/bin/env python3
"""Runs the examples of every --help, as a user who copies them would.

  help_examples.py SHOAL            parses all, and runs those that can run here
  help_examples.py SHOAL --quick    parses all, and runs those that take little time
  help_examples.py SHOAL --times    also says how much processor time each took
  help_examples.py SHOAL --only=REGULAR_EXPRESSION

The files that examples name are made in a temporary folder: small networks, and data sets of a few drawn images.
An example is parsed by giving it one more flag that no command has: it must be all that is wrong.
"""
import os
import pathlib
import re
import resource
import shlex
import struct
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import help_text  # noqa: E402

SHOAL = pathlib.Path(sys.argv[1]).resolve()
UNKNOWN = "--no-command-has-this-flag"
TIMEOUT = 300  # seconds; an example that takes longer hangs

# What is parsed only: an expression for the example, and why it cannot run here. The first that matches counts.
NOT_HERE = [
    (r"^(curl|yes 2) ", "another program reads or writes"),
    (r"completions (bash|zsh|fish) >", "writes into the user's home"),
    (r"^shoal (serve|worker|cluster serve|cluster invite)\b", "runs until it is stopped, at a fixed address"),
    (r"^shoal load ", "needs a server at a fixed address"),
    (r"^shoal cluster (add|remove|status) |^shoal cluster status$|^shoal devices", "needs workers on other machines"),
    (r"^shoal (?!emulate|plan|simulate|branch|fit-cluster).* --cluster\b", "needs a cluster with workers"),
    (r"opencl:0|vulkan:0", "needs a GPU"),
    (r"rtsp://|mqtt://", "needs a camera or a broker"),
    (r"\.mp4\b", "needs a video and shoal-decode"),
    (r"^shoal faces (enrol|who|eval|forget|list) ", "needs networks of faces, which the zoo has not"),
    (r"^shoal query ask ", "needs the index of a video"),
    (r"^shoal chaos ", "kills processes for a minute or more; tests of chaos do it in less"),
    (r"^shoal emulate( --link .*| --workers .*)?( --$| -- .*|$)", "emulates large networks for minutes; demo and cluster_cli do it"),
    (r"^shoal simulate .*--(day|workers 200)|^shoal simulate zoo:alexnet", "takes minutes of processor time"),
    (r"^shoal shrink .*ms=0\.|--tucker", "measures times of layers, which other tests would disturb"),
    (r"^shoal branch .*--worker pi3", "needs a network larger than a Pi 3"),
    (r"^shoal search ", "searches for half an hour"),
    (r"zoo:vgg16 --with |--days 1000 ", "takes a minute of processor time"),
]
# Left out with --quick: what takes longer than about a second.
SLOW = (r"^shoal (bench|shrink|exits|fit-cluster|tprune|specialise|branch|catalog build|plan zoo:|simulate|train|doctor)"
        r"|zoo:? ?vgg16|zoo:scene|resnet50 --int8")


def save_network(path, nodes, name, shape, scores, weights):
    rng = np.random.default_rng(1)
    tensors = [onnx.numpy_helper.from_array(rng.normal(0, 0.2, of).astype(np.float32), label) for label, of in weights.items()]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in nodes], "tiny",
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)],
        [onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, scores)], tensors)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def tiny(path, name="x", side=None, classes=10):
    """A classifier whose body is called features, and whose input has any size unless `side` is given."""
    halves = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    save_network(
        path,
        [("Conv", [name, "features.0.weight"], ["a"], halves), ("Relu", ["a"], ["b"], {}),
         ("Conv", ["b", "features.1.weight"], ["c"], halves), ("Relu", ["c"], ["d"], {}),
         ("GlobalAveragePool", ["d"], ["e"], {}), ("Flatten", ["e"], ["f"], {}),
         ("Gemm", ["f", "head.weight"], ["scores"], {})],
        name, ["n", 3, side or "h", side or "w"], ["n", classes],
        {"features.0.weight": (8, 3, 3, 3), "features.1.weight": (8, 8, 3, 3), "head.weight": (8, classes)})


def tokens(path, width=32, classes=10):
    """A feed-forward block that scores each token of a sequence."""
    save_network(
        path,
        [("MatMul", ["x", "embed"], ["a"], {}), ("MatMul", ["a", "up"], ["b"], {}), ("Relu", ["b"], ["c"], {}),
         ("MatMul", ["c", "down"], ["d"], {}), ("Add", ["a", "d"], ["e"], {}), ("MatMul", ["e", "head"], ["f"], {}),
         ("Flatten", ["f"], ["scores"], {"axis": 2})],
        "x", ["n", 8, width], ["rows", classes],
        {"embed": (width, width), "up": (width, 2 * width), "down": (2 * width, width), "head": (width, classes)})


def zoo(name, path, *flags):
    subprocess.run([SHOAL, "zoo", name, "-o", path, *flags], check=True, capture_output=True)


def write_idx(folder, count):
    rng = np.random.default_rng(2)
    folder.mkdir()
    for prefix, n in (("train", count), ("t10k", count // 2)):
        labels = np.arange(n, dtype=np.uint8) % 10
        images = rng.integers(0, 256, (n, 28, 28), np.uint8) // 4 + labels[:, None, None] * 18
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, n, 28, 28) + images.tobytes())
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, n) + labels.tobytes())


def write_cifar(folder, count):
    rng = np.random.default_rng(3)
    folder.mkdir()
    for name in ("data_batch_1.bin", "test_batch.bin"):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = rng.integers(0, 256, (count, 3072), np.uint8) // 4 + labels[:, None] * 18
        (folder / name).write_bytes(np.concatenate([labels[:, None], images], 1).tobytes())


def write_photos(folder, classes, count, side):
    rng = np.random.default_rng(4)
    for label in range(classes):
        (folder / f"class{label}").mkdir(parents=True)
        for i in range(count):
            pixels = rng.integers(0, 256, (side, side, 3), np.uint8) // 4 + label * 18
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"class{label}" / f"{i}.png")


def write_files(at):
    """What examples find; a copy of it for each of them."""
    rng = np.random.default_rng(5)
    write_idx(at / "mnist", 320)
    write_idx(at / "DIR", 40)
    write_cifar(at / "cifar10", 100)
    write_photos(at / "photos", 5, 25, 32)
    write_photos(at / "images", 5, 4, 32)
    (at / "frames").mkdir()
    (at / "coco/images").mkdir(parents=True)
    (at / "coco/labels").mkdir()
    for i in range(3):
        for folder in (at / "frames", at / "coco/images"):
            Image.fromarray(rng.integers(0, 256, (96, 96, 3), np.uint8)).save(folder / f"{i}.jpg")
        (at / f"coco/labels/{i}.txt").write_text("1 0.5 0.5 0.2 0.2\n")
    Image.fromarray(rng.integers(0, 256, (300, 280, 3), np.uint8)).save(at / "cat.jpg")
    Image.fromarray(rng.integers(0, 256, (28, 28), np.uint8)).save(at / "my_digit.png")
    np.save(at / "x.npy", rng.normal(size=(1, 3, 32, 32)).astype(np.float32))
    for name in ("ids", "test"):
        np.save(at / f"{name}.npy", rng.normal(size=(128, 8, 32)).astype(np.float32))
    for name in ("tags", "tests"):
        np.save(at / f"{name}.npy", rng.integers(0, 10, (128, 8)))
    (at / "classes.txt").write_text("\n".join(f"class {i}" for i in range(10)))
    tiny(at / "model.onnx")
    tiny(at / "old.onnx")
    zoo("lenet5", at / "lenet.onnx")
    zoo("lenet5", at / "small.onnx", "--width", "0.5")
    zoo("resnet20", at / "resnet20.onnx", "--width", "0.1")
    zoo("resnet56", at / "resnet56.onnx", "--width", "0.1")
    zoo("allcnn", at / "vgg.onnx", "--width", "0.1")
    for name in ("encoder", "sentences"):
        tokens(at / f"{name}.onnx")
    for name in ("squeezenet", "resnet50"):
        tiny(at / f"{name}.onnx", side=224)
    for name in ("yolox", "yolox-nano"):
        zoo("tinyyolov2", at / f"{name}.onnx", "--width", "0.1", "--size", "64")
    examples = pathlib.Path(__file__).resolve().parents[2] / "examples/schedule"
    for name in ("tasks.toml", "day.toml"):
        (at / name).write_text((examples / name).read_text())
    (at / "lenet.toml").write_text((examples / "lenet.toml").read_text())
    (at / "cluster.toml").write_text('[[worker]]\ndevice = "pi4"\nlink = "gigabit"\ncount = 2\n')
    (at / "devices.toml").write_text('[[worker]]\ndevice = "pi4"\nlink = "gigabit"\ncount = 2\n')
    (at / "small.toml").write_text('model = "lenet.onnx"\ndata = "mnist"\nformat = "idx"\nepochs = 1\n')


def fit_files(at, example):
    """Other files, for an example that needs others than most."""
    if "--shape input=" in example:
        tiny(at / "model.onnx", "input")
    elif re.match(r"shoal convert .*--calibrate", example):
        tiny(at / "model.onnx", side=224)
    elif re.match(r"shoal (train|shrink)", example):
        tiny(at / "model.onnx", side=32)
    elif re.match(r"shoal (exits|branch|fit-cluster)", example):
        zoo("resnet20", at / "model.onnx", "--width", "0.1")
    if example.startswith("shoal fit-cluster resnet56"):
        zoo("resnet20", at / "resnet56.onnx", "--width", "0.1")
    if re.match(r"shoal shrink .*--recipe|shoal exits lenet", example):
        zoo("lenet5", at / "lenet.onnx", "--width", "0.5")
    if "models/" in example:  # whose one task is lenet
        day = (at / "day.toml").read_text()
        (at / "day.toml").write_text(re.sub(r"tasks = \[.*?\]", 'tasks = ["lenet"]', day, flags=re.S))
    if "query index photos" in example:
        subprocess.run("mv photos/class0 flat && rm -r photos && mv flat photos", shell=True, cwd=at, check=True)


# What an example needs that another command makes: run before it, in the same folder.
BEFORE = [
    (r"multi\.onnx .*(--exits|-o .*\.index)|--exits .*|query index .*multi",
     "shoal exits resnet20.onnx --at auto:2 --data photos --format folder --epochs 1 --precision 0.5 -o multi.onnx"),
    (r"^shoal plan lcp", "shoal branch lenet.onnx --branches 2 -o lcp.onnx"),
    (r"catalog .*(lenet\.variants|models/)|catalog list lenet( |$)",
     "shoal shrink lenet.onnx --data mnist --format idx --target macs=0.5 --variants 2 --epochs 1 -o lenet.variants"
     " && mkdir -p models && cp -r lenet.variants models/lenet && cp -r lenet.variants lenet"),
    (r"^shoal cluster list", "shoal cluster init"),
]
# An example that ends with another code than 0 on such data and devices, as it should.
ENDS = [
    (r"--min-top1 75", {0, 9}),
    (r"--max-drop 1\b", {0, 9}),
    (r"^shoal fit-cluster", {0, 9}),
]


def all_examples():
    """(example, command whose --help has it), each once."""
    found = {}
    top = help_text.said([SHOAL], "--help")
    pages = [()]
    for command in help_text.listed(top):
        pages.append((command,))
        pages += [(command, below) for below in help_text.listed(help_text.said([SHOAL], command, "--help"))]
    for words in pages:
        for example in help_text.examples(help_text.said([SHOAL], *words, "--help")):
            found.setdefault(example, " ".join(("shoal", *words)))
    return found


def calls(example):
    """The calls of shoal in an example: in a pipe, and after the dashes of emulate."""
    for part in example.split("|"):
        words = shlex.split(part.split(">")[0])
        while "--" in words:
            dashes = words.index("--")
            yield words[:dashes]
            words = ["shoal", *words[dashes + 1:]]
        if words and words[0] == "shoal":
            yield words


def parse(example, at, networks):
    """What is wrong with the flags of an example, or the networks that it names."""
    for words in calls(example):
        for name in re.findall(r"\bzoo:([\w-]+)", " ".join(words)):
            if name not in networks:
                return f"the zoo has no {name}"
        done = subprocess.run([SHOAL, *words[1:], UNKNOWN], cwd=at, capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode != 2 or f"argument was not expected: {UNKNOWN}\n" not in done.stderr:
            return f"exit {done.returncode}: {done.stderr.strip()}"
    return ""


def first_match(table, example):
    return next((value for pattern, value in table if re.search(pattern, example)), None)


def run(example, at, environment):
    """What is wrong with an example, or an empty text."""
    fit_files(at, example)
    environment = {**environment, "XDG_CONFIG_HOME": str(at / "config")}
    before = first_match(BEFORE, example)
    for command in [before] if before else []:
        done = subprocess.run(["bash", "-c", command], cwd=at, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode != 0:
            return f"what it needs cannot be made: {command}\n{done.stderr}"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", example], cwd=at, env=environment, capture_output=True, text=True,
                          timeout=TIMEOUT)
    if done.returncode not in (first_match(ENDS, example) or {0}):
        return f"exit {done.returncode}: {done.stderr.strip()[-2000:]}"
    return ""


def main():
    quick, times = "--quick" in sys.argv, "--times" in sys.argv
    only = next((word.removeprefix("--only=") for word in sys.argv if word.startswith("--only=")), "")
    networks = {*re.findall(r"^([\w-]+) ", subprocess.run([SHOAL, "zoo"], capture_output=True, text=True).stdout, re.M), "scene"}
    wrong, ran, parsed, used = [], 0, 0, set()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = {**os.environ, "PATH": f"{SHOAL.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder),
                       "XDG_CACHE_HOME": str(folder / "cache")}
        files = folder / "files"
        files.mkdir()
        write_files(files)
        for number, (example, of) in enumerate(all_examples().items()):
            if not re.search(only, example):
                continue
            problem = parse(example, files, networks)
            parsed += 1
            used.update(pattern for pattern, _ in NOT_HERE if re.search(pattern, example))
            if not problem and not first_match(NOT_HERE, example) and not (quick and re.search(SLOW, example)):
                at = folder / str(number)
                subprocess.run(["cp", "-r", files, at], check=True)
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                problem = run(example, at, environment)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(["rm", "-rf", at], check=True)
                ran += 1
                if times:
                    print(f"{after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:6.2f} s  {example}", flush=True)
            if problem:
                wrong.append(example)
                print(f"{of} --help:\n  {example}\n  {problem}", flush=True)
    unused = [] if only else [pattern for pattern, _ in NOT_HERE if pattern not in used]
    for pattern in unused:
        print(f"no example is excused by {pattern}")
    print(f"{parsed} examples parsed, {ran} run, {len(wrong)} wrong")
    sys.exit(1 if wrong or unused else 0)


if __name__ == "__main__":
    main()
