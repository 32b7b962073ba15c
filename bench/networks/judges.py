"""How good the answers of networks are: boxes by AP50, pairs of faces by their verdicts.

Boxes are rows of left, top, right, bottom in any unit, the same for all.
"""

import numpy as np

RECALLS = np.linspace(0, 1, 101)  # where COCO reads the precision


def overlaps(boxes, others):
    """Intersection over union, [len(boxes), len(others)]."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    inside = np.prod(np.clip(high - low, 0, None), axis=2)
    area, other = (np.prod(b[:, 2:] - b[:, :2], axis=1) for b in (boxes, others))
    return inside / np.maximum(area[:, None] + other[None, :] - inside, 1e-12)


def suppress(boxes, scores, most_overlap):
    """Indices of the boxes that no better one overlaps by more, the best first."""
    order = np.argsort(-scores, kind="stable")
    kept = []
    while len(order):
        kept.append(order[0])
        covered = overlaps(boxes[order[:1]], boxes[order[1:]])[0] > most_overlap
        order = order[1:][~covered]
    return np.array(kept, dtype=int)


def detections(boxes, scores, least_score=0.001, most_overlap=0.65, candidates=1000, most=300):
    """(class, score, box) of an image, from boxes [n, 4] and scores [n, classes]."""
    best = np.sort(scores, axis=None)[-candidates:]
    rows, classes = np.nonzero(scores >= max(best[0], least_score))
    found = []
    for c in np.unique(classes):
        own = rows[classes == c]
        for i in suppress(boxes[own], scores[own, c], most_overlap):
            found.append((int(c), float(scores[own[i], c]), boxes[own[i]]))
    return sorted(found, key=lambda d: -d[1])[:most]


def hits(found, truth, least_overlap):
    """For each of an image's boxes, the best first, whether it is the first to meet a true one."""
    taken = np.zeros(len(truth), bool)
    verdicts = []
    for box in found:
        overlap = overlaps(box[None], truth)[0] * ~taken if len(truth) else np.zeros(0)
        best = int(np.argmax(overlap)) if len(truth) else -1
        verdicts.append(best >= 0 and overlap[best] >= least_overlap)
        if verdicts[-1]:
            taken[best] = True
    return verdicts


def average_precision(scores, verdicts, truths):
    """The mean over RECALLS of the best precision at that recall or more; `truths` is how many true
    boxes there are."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    right = np.cumsum(np.asarray(verdicts, dtype=float)[order])
    precision = right / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(right / truths, RECALLS - 1e-9)
    return float(np.mean([precision[p] if p < len(precision) else 0 for p in places]))


def ap50(found, truth, least_overlap=0.5):
    """The mean average precision in percent over the classes that occur. Per image: `found` as
    detections() gives it, `truth` as (class, box)."""
    per_class = []
    for c in sorted({c for image in truth for c, _ in image}):
        scores, verdicts, truths = [], [], 0
        for mine, true in zip(found, truth):
            boxes = np.array([box for k, box in true if k == c]).reshape(-1, 4)
            own = [(score, box) for k, score, box in mine if k == c]
            scores += [score for score, _ in own]
            verdicts += hits([box for _, box in own], boxes, least_overlap)
            truths += len(boxes)
        per_class.append(average_precision(scores, verdicts, truths) if scores else 0.0)
    return 100 * float(np.mean(per_class))


def verification(a, b, same, threshold):
    """The share of pairs in percent whose cosine is on the right side of the threshold."""
    cosine = np.sum(a * b, 1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return 100 * float(np.mean((cosine > threshold) == same))


def top1(scores, labels):
    return 100 * float(np.mean(np.argmax(scores, 1) == labels))
