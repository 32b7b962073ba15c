#!/usr/bin/python3
"""Boxes of every detector in ../shared/models against ONNX Runtime and decoders in NumPy.

detectors.py SHOAL [--images N] [--only PART OF A NAME]

Images are prepared by Pillow, networks run by ONNX Runtime, boxes decoded and suppressed here, from what MANIFEST.md of the
models says, so that both would have to be wrong. Boxes of one class are paired by overlap; each must overlap its partner by
0.999. A detector that finds nothing fails. With all images, mAP of both must be within 0.1 points.

A box without a partner must be one that the other side's network gives, too, and is excused, counted and printed where
rounding decides: its score is within 1e-5 of the threshold ("score"); a better box of the other side overlaps it by an amount
within 1e-4 of what suppression allows ("overlap"); a box of the other side that has no partner either, and is better or worse
by no more than 1e-5, suppresses it ("order"); or the other side's list is full and its last score no more than 1e-5 below ("cut").
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
PEER = ROOT / "tests" / "peers" / "ort.mjs"
COCO, FACES = SHARED / "data" / "coco-val128", SHARED / "data" / "lfw-fold1"
SCORE, OVERLAP, LEAST_IOU = 0.25, 0.65, 0.999
HAIR, HAIR_OF_OVERLAP = 1e-5, 1e-4  # of scores and overlaps: what rounding may change
MOST, MOST_CANDIDATES = 300, 1000  # boxes of an image, after suppression and before
STRIDES = (8, 16, 32)
BATCH = 16  # images in a file for ONNX Runtime


def logistic(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def centred(x, y, w, h):
    return np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)


def cells(height, width):
    """x, y and stride of every cell, row by row, the finest stride first."""
    grids = []
    for stride in STRIDES:
        y, x = np.mgrid[0:-(-height // stride), 0:-(-width // stride)]
        grids.append(np.stack([x.ravel(), y.ravel(), np.full(x.size, stride)], -1))
    return np.concatenate(grids).astype(np.float64)


def by_last(outputs, last):
    return next(one for one in outputs if one.shape[-1] == last)[0].astype(np.float64)


def yolov8(outputs, height, width):
    rows = outputs[0][0].T.astype(np.float64)
    return centred(*rows[:, :4].T), rows[:, 4:]


def yolox(outputs, height, width):
    rows, grid = outputs[0][0].astype(np.float64), cells(height, width)
    stride = grid[:, 2]
    boxes = centred((rows[:, 0] + grid[:, 0]) * stride, (rows[:, 1] + grid[:, 1]) * stride,
                    np.exp(rows[:, 2]) * stride, np.exp(rows[:, 3]) * stride)
    return boxes, rows[:, 4:5] * rows[:, 5:]


def nanodet(outputs, height, width):
    boxes, scores = [], []
    for stride in STRIDES:
        grid = cells(height, width)
        grid = grid[grid[:, 2] == stride]
        of_stride = [one.astype(np.float64) for one in outputs if one.shape[0] == len(grid)]
        raw = next(one for one in of_stride if one.shape[1] == 32)
        scores.append(next(one for one in of_stride if one.shape[1] == 80))
        edge = (softmax(raw.reshape(-1, 4, 8)) * np.arange(8)).sum(-1) * stride
        x, y = (grid[:, 0] + 0.5) * stride, (grid[:, 1] + 0.5) * stride
        boxes.append(np.stack([x - edge[:, 0], y - edge[:, 1], x + edge[:, 2], y + edge[:, 3]], -1))
    return np.concatenate(boxes), np.concatenate(scores)


def fastestdet(outputs, height, width):
    planes = outputs[0][0].astype(np.float64)
    _, rows, columns = planes.shape
    y, x = np.mgrid[0:rows, 0:columns]
    boxes = centred((np.tanh(planes[1]) + x) / columns * width, (np.tanh(planes[2]) + y) / rows * height,
                    logistic(planes[3]) * width, logistic(planes[4]) * height).reshape(-1, 4)
    return boxes, (planes[0] ** 0.6 * planes[5:] ** 0.4).reshape(80, -1).T


def ultraface(outputs, height, width):
    return by_last(outputs, 4) * [width, height, width, height], by_last(outputs, 2)[:, 1:]


def retinaface(outputs, height, width):
    grid = np.repeat(cells(height, width), 2, 0)
    stride = grid[:, 2]
    size = stride ** 2 / 4 * np.tile([1, 2], len(grid) // 2)
    v = by_last(outputs, 4)
    boxes = centred((grid[:, 0] + 0.5) * stride + 0.1 * v[:, 0] * size, (grid[:, 1] + 0.5) * stride + 0.1 * v[:, 1] * size,
                    size * np.exp(0.2 * v[:, 2]), size * np.exp(0.2 * v[:, 3]))
    return boxes, by_last(outputs, 2)[:, 1:]


def priors_of_ssd300():
    """Centre and size of the 8,732 priors, in pixels."""
    rows = []
    for cells_of_side, step, size, following, aspects in (
            (38, 8, 30, 60, (2,)), (19, 16, 60, 111, (2, 3)), (10, 32, 111, 162, (2, 3)), (5, 64, 162, 213, (2, 3)),
            (3, 100, 213, 264, (2,)), (1, 300, 264, 315, (2,))):
        sizes = [(size, size), ((size * following) ** 0.5,) * 2]
        for aspect in aspects:
            sizes += [(size * aspect ** 0.5, size / aspect ** 0.5), (size / aspect ** 0.5, size * aspect ** 0.5)]
        rows += [((x + 0.5) * step, (y + 0.5) * step, *one) for y in range(cells_of_side) for x in range(cells_of_side) for one in sizes]
    return np.array(rows)


def ssd300(outputs, height, width):
    priors, v = priors_of_ssd300(), by_last(outputs, 4)
    centre, size = priors[:, :2] + 0.1 * v[:, :2] * priors[:, 2:], priors[:, 2:] * np.exp(0.2 * v[:, 2:])
    return centred(*centre.T, *size.T), softmax(by_last(outputs, 6))[:, 1:]


def ssd(outputs, height, width):
    return by_last(outputs, 4) * [width, height, width, height], by_last(outputs, 6)[:, 1:]


def make_ssd(path, decoded):
    """A detector of random convolutions over means of the image: no such model is in ../shared.

    One gives offsets to the priors of SSD300, and more boxes than are kept; the other gives corners and probabilities, fewer
    boxes, so that it is another head, and leaves most of them to the background.
    """
    import onnx
    from onnx import helper, numpy_helper
    random, nodes, weights, ends = np.random.default_rng(7), [], [], {4: [], 6: []}
    # The other's input is in [-1, 1].
    deviations = {4: 0.02, 6: 2} if decoded else {4: 0.01, 6: 0.03}
    for step, side, kinds in ((8, 38, 4), (16, 19, 6), (32, 10, 6), (64, 5, 6), (100, 3, 4), (300, 1, 4)):
        nodes.append(helper.make_node("AveragePool", ["image"], [f"p{step}"], kernel_shape=[step, step], strides=[step, step],
                                      ceil_mode=1))
        for last in ends:
            name = f"{last}_{step}"
            weight = random.normal(0, deviations[last], (kinds * last, 3, 1, 1)).astype(np.float32)
            bias = np.zeros((kinds, last), np.float32)
            if decoded and last == 6:
                bias[:, 0] = 7  # the background
            weights += [numpy_helper.from_array(weight, f"w{name}"), numpy_helper.from_array(bias.ravel(), f"b{name}")]
            nodes += [helper.make_node("Conv", [f"p{step}", f"w{name}", f"b{name}"], [f"c{name}"]),
                      helper.make_node("Transpose", [f"c{name}"], [f"t{name}"], perm=[0, 2, 3, 1]),
                      helper.make_node("Reshape", [f"t{name}", f"shape{last}"], [f"r{name}"])]
            ends[last].append(f"r{name}")
    for last, names in ends.items():
        weights.append(numpy_helper.from_array(np.array([1, -1, last]), f"shape{last}"))
        nodes.append(helper.make_node("Concat", names, [f"all{last}"], axis=1))
    count = 8732
    if decoded:
        count = 8000
        corners = centred(*priors_of_ssd300()[:count].T)[None].astype(np.float32) / 300
        weights += [numpy_helper.from_array(np.array([0]), "zero"), numpy_helper.from_array(np.array([count]), "count"),
                    numpy_helper.from_array(np.array([1]), "axis"), numpy_helper.from_array(corners, "corners")]
        nodes += [helper.make_node("Slice", ["all6", "zero", "count", "axis"], ["some6"]),
                  helper.make_node("Slice", ["all4", "zero", "count", "axis"], ["some4"]),
                  helper.make_node("Softmax", ["some6"], ["scores"], axis=2),
                  helper.make_node("Add", ["some4", "corners"], ["boxes"])]
    else:
        nodes += [helper.make_node("Identity", ["all6"], ["scores"]), helper.make_node("Identity", ["all4"], ["boxes"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "ssd", [info("image", 1, [1, 3, 300, 300])],
                              [info("scores", 1, [1, count, 6]), info("boxes", 1, [1, count, 4])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def model_of(name):
    if not name.startswith("made-"):
        return SHARED / "models" / f"{name}.onnx"
    path = pathlib.Path(MADE.name) / f"{name}.onnx"
    if not path.exists():
        make_ssd(path, decoded=name == "made-ssd")
    return path


MADE = tempfile.TemporaryDirectory()
# file: decoder, input, height, width, fit, pad, BGR, mean, deviation
DETECTORS = {
    "yolov8n-coco-640": (yolov8, "images", 640, 640, "centre", 114, False, 0, 255),
    "yolox-nano-coco-416": (yolox, "images", 416, 416, "corner", 114, True, 0, 1),
    "nanodet-m-coco-320": (nanodet, "image", 320, 320, "centre", 0, True, (103.53, 116.28, 123.675), (57.375, 57.12, 58.395)),
    "fastestdet-coco-352": (fastestdet, "input.1", 352, 352, "stretch", 0, True, 0, 255),
    "face-rfb320": (ultraface, "input", 240, 320, "stretch", 0, False, 127, 128),
    "face-retina-mnet025": (retinaface, "input0", 640, 640, "stretch", 0, True, (104, 117, 123), 1),
    "made-ssd300": (ssd300, "image", 300, 300, "stretch", 0, False, (123, 117, 104), 1),
    "made-ssd": (ssd, "image", 300, 300, "stretch", 0, False, 127, 128),
}


def prepare(image, height, width, fit, pad, bgr, mean, deviation):
    """The input, and (scale x, scale y, shift x, shift y)."""
    scale = (width / image.width, height / image.height)
    if fit == "stretch":
        pixels, place = np.asarray(image.resize((width, height), Image.BILINEAR)), (*scale, 0, 0)
    else:
        least = min(scale)
        w, h = min(int(image.width * least + 0.5), width), min(int(image.height * least + 0.5), height)
        left, top = ((width - w) // 2, (height - h) // 2) if fit == "centre" else (0, 0)
        pixels = np.full((height, width, 3), pad, np.uint8)
        pixels[top:top + h, left:left + w] = np.asarray(image.resize((w, h), Image.BILINEAR))
        place = (least, least, left, top)
    pixels = pixels[:, :, ::-1] if bgr else pixels
    return ((pixels - np.float32(mean)) / np.float32(deviation)).astype(np.float32).transpose(2, 0, 1), place


def iou(one, many):
    low, high = np.maximum(one[:2], many[:, :2]), np.minimum(one[2:], many[:, 2:])
    both = np.prod(np.clip(high - low, 0, None), -1)
    return both / np.maximum(np.prod(one[2:] - one[:2]) + np.prod(many[:, 2:] - many[:, :2], -1) - both, 1e-12)


def candidates_of(boxes, scores, least):
    """Rows of class, score, box, the best first."""
    index, label = np.nonzero(scores >= least)
    order = np.argsort(-scores[index, label], kind="stable")
    index, label = index[order], label[order]
    return np.concatenate([label[:, None], scores[index, label][:, None], boxes[index]], 1)


def suppressed(candidates):
    kept = np.zeros((0, 6))
    for one in candidates[:MOST_CANDIDATES]:
        same = kept[kept[:, 0] == one[0]]
        if len(same) == 0 or iou(one[2:], same[:, 2:]).max() <= OVERLAP:
            kept = np.vstack([kept, one])
        if len(kept) == MOST:
            break
    return kept


def reference(name, files, least):
    """Of each image, all boxes from this score on, the best first."""
    decoder, entry, height, width, fit, pad, bgr, mean, deviation = DETECTORS[name]
    answers = []
    for first in range(0, len(files), BATCH):
        images = [Image.open(file).convert("RGB") for file in files[first:first + BATCH]]
        prepared = [prepare(image, height, width, fit, pad, bgr, mean, deviation) for image in images]
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", np.stack([one for one, _ in prepared]))
            subprocess.run(["node", str(PEER), "each", str(model_of(name)), "--input", f"{entry}={folder}/x.npy",
                            "--save", f"{folder}/out"], check=True)
            for i, (image, (_, place)) in enumerate(zip(images, prepared)):
                outputs = [np.load(file) for file in sorted(pathlib.Path(f"{folder}/out/{i}").glob("*.npy"))]
                boxes, scores = decoder(outputs, height, width)
                boxes = (boxes - [place[2], place[3]] * 2) / ([place[0], place[1]] * 2)
                boxes = np.clip(boxes, 0, [image.width, image.height] * 2)
                answers.append(candidates_of(boxes, scores, least))
    return answers


def answered(shoal, name, files, least):
    with tempfile.TemporaryDirectory() as folder:
        images = pathlib.Path(folder) / "images"
        images.mkdir()
        for file in files:
            (images / file.name).symlink_to(file)
        subprocess.run([shoal, "watch", str(images), "--model", str(model_of(name)), "--score", str(least),
                        "--threads", "1", "--tune", "off", "--jsonl", f"{folder}/x.jsonl", "--json"], check=True,
                       stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in pathlib.Path(f"{folder}/x.jsonl").read_text().splitlines()]
    found = {line["name"]: np.array([[b["class"], b["score"], b["x"], b["y"], b["x"] + b["w"], b["y"] + b["h"]]
                                     for b in line["boxes"]]).reshape(-1, 6) for line in lines}
    return [found[file.name] for file in files]


def partners(some, others):
    """For each box, the one of the same class that it overlaps most, or -1, and by how much."""
    found, overlaps = np.full(len(some), -1), np.zeros(len(some))
    for i, one in enumerate(some):
        same = np.nonzero(others[:, 0] == one[0])[0]
        if len(same) == 0:
            continue
        shares = iou(one[2:], others[same, 2:])
        if shares.max() >= 0.9:
            found[i], overlaps[i] = same[shares.argmax()], shares.max()
    return found, overlaps


def excuse(one, others, have_partner, candidates):
    """Why it may or may not be there, by a hair; None if there is no reason."""
    same = candidates[candidates[:, 0] == one[0]]
    alike = same[iou(one[2:], same[:, 2:]) >= LEAST_IOU] if len(same) else same
    if len(alike) == 0 or np.abs(alike[:, 1] - one[1]).min() > HAIR:
        return None  # nobody gave such a box
    if one[1] < SCORE + HAIR:
        return "score"
    better = (others[:, 0] == one[0]) & (others[:, 1] >= one[1] - HAIR)
    shares = np.where(better, iou(one[2:], others[:, 2:]), 0) if len(others) else np.zeros(1)
    if np.abs(shares - OVERLAP).min() < HAIR_OF_OVERLAP:
        return "overlap"
    if ((shares > OVERLAP) & ~have_partner).any():
        return "order"
    is_full = len(others) == MOST and one[1] <= others[-1, 1] + HAIR
    is_cut = len(candidates) > MOST_CANDIDATES and one[1] <= candidates[MOST_CANDIDATES - 1, 1] + HAIR
    return "cut" if is_full or is_cut else None


def compare(ours, candidates, sums):
    """`candidates` are those of the reference, from a score a hair below the threshold on."""
    theirs = suppressed(candidates[candidates[:, 1] >= SCORE])
    of_theirs, overlaps = partners(theirs, ours)
    of_ours, _ = partners(ours, theirs)
    for one, partner, overlap in zip(theirs, of_theirs, overlaps):
        if partner < 0:
            why = excuse(one, ours, of_ours >= 0, candidates)
            sums["missing" if why is None else why] += 1
            continue
        sums["pairs"] += 1
        sums["least_iou"] = min(sums["least_iou"], float(overlap))
        sums["below"] += int(overlap < LEAST_IOU)
        sums["score_off"] = max(sums["score_off"], float(abs(one[1] - ours[partner, 1])))
    for one in ours[of_ours < 0]:
        why = excuse(one, theirs, of_theirs >= 0, candidates)
        sums["extra" if why is None else why] += 1


def truth_of(file):
    size = np.array(Image.open(file).size * 2)
    labels = COCO / "labels" / f"{file.stem}.txt"
    rows = np.loadtxt(labels, ndmin=2) if labels.exists() and labels.stat().st_size else np.zeros((0, 5))
    boxes = np.concatenate([rows[:, 1:3] - rows[:, 3:5] / 2, rows[:, 1:3] + rows[:, 3:5] / 2], 1) * size
    return np.concatenate([rows[:, :1], boxes], 1)


def average_precision(verdicts, truths):
    """Of (score, whether it is right), with 101 recalls."""
    verdicts = sorted(verdicts, key=lambda one: -one[0])
    right = np.cumsum([one[1] for one in verdicts])
    precision = right / np.arange(1, len(verdicts) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(right / truths, np.linspace(0, 1, 101))
    return np.mean([precision[i] if i < len(precision) else 0 for i in at])


def mean_precision(found, files):
    """mAP50 and mAP in percent, as COCO defines them."""
    truths = [truth_of(file) for file in files]
    means = []
    for least in np.linspace(0.5, 0.95, 10):
        of_classes = []
        for label in sorted({int(label) for truth in truths for label in truth[:, 0]}):
            verdicts, count = [], 0
            for boxes, truth in zip(found, truths):
                there = truth[truth[:, 0] == label][:, 1:]
                free = np.ones(len(there), bool)
                count += len(there)
                for one in boxes[:100][boxes[:100, 0] == label]:
                    overlaps = np.where(free, iou(one[2:], there), 0) if len(there) else np.zeros(1)
                    hit = overlaps.max() >= least
                    if hit:
                        free[overlaps.argmax()] = False
                    verdicts.append((one[1], hit))
            of_classes.append(average_precision(verdicts, count) if verdicts else 0)
        means.append(100 * np.mean(of_classes))
    return means[0], float(np.mean(means))


def check(shoal, name, images):
    faces = name.startswith("face")
    files = sorted((FACES if faces else COCO).glob("images/*.jpg"))[:images or None]
    sums = {"name": name, "images": len(files), "pairs": 0, "least_iou": 1.0, "below": 0, "score_off": 0.0, "missing": 0,
            "extra": 0, "score": 0, "overlap": 0, "order": 0, "cut": 0}
    for ours, candidates in zip(answered(shoal, name, files, SCORE), reference(name, files, SCORE - HAIR)):
        compare(ours, candidates, sums)
    sums["ok"] = sums["pairs"] > 0 and sums["below"] + sums["missing"] + sums["extra"] == 0
    if not faces and not images and not name.startswith("made-"):
        done = subprocess.run([shoal, "eval", str(SHARED / "models" / f"{name}.onnx"), "--task", "detect", "--data", str(COCO),
                               "--format", "yolo", "--threads", "1", "--tune", "off", "--json"], check=True, capture_output=True, text=True)
        ours = json.loads(done.stdout.splitlines()[-1])
        sums["map50_reference"], sums["map_reference"] = mean_precision([suppressed(one) for one in reference(name, files, 0.001)],
                                                                                files)
        sums["map50"], sums["map"] = ours["map50"], ours["map"]
        sums["ok"] = sums["ok"] and all(abs(sums[key] - sums[key + "_reference"]) <= 0.1 for key in ("map50", "map"))
    return sums


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--images", type=int, default=0, help="only the first so many, without mAP")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if not (SHARED / "models").exists() or not (PEER.parent / "node_modules").exists():
        print("skipped: ../shared or ONNX Runtime is not here")
        sys.exit(77)
    good = True
    for name in (one for one in DETECTORS if arguments.only in one):
        sums = check(arguments.shoal, name, arguments.images)
        good = good and sums["ok"]
        print(json.dumps(sums), flush=True)
    sys.exit(0 if good else 1)


main()
