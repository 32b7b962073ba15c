"""Compares what was saved for one node test with what ONNX expects. Says what is wrong, or None."""

import numpy as np

# Ten to sixty draws cannot prove a distribution: these bounds catch gross mistakes and reject a
# fair draw about once in 10,000 times (simulated). Squared deviations are skewed, hence the wider
# bound for them.
MAX_MEAN_SIGMAS = 4
MAX_VARIANCE_SIGMAS = 6


def output_file(folder, name):
    """The command line's own rule: characters that a file name cannot hold become _."""
    return folder / (name.replace("/", "_").replace("\0", "_") + ".npy")


def widen_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def compare_values(actual, expected, rtol, atol):
    if expected.dtype.kind != "f":
        wrong = np.count_nonzero(actual != expected)
        return f"{wrong} of {expected.size} elements differ" if wrong else None
    try:
        np.testing.assert_allclose(actual, expected, rtol, atol, equal_nan=True)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return "; ".join(lines[1:4])
    return None


def compare_types(actual, expected):
    if actual.dtype != expected.dtype:
        return f"element type is {actual.dtype}, not {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape is {actual.shape}, not {expected.shape}"
    return None


def sigmas(total, mean, variance):
    """How far a sum of draws is from its mean, in standard deviations."""
    return abs(total - mean) / np.sqrt(variance)


def judge_bernoulli(p, y):
    if not np.isin(y, (0, 1)).all():
        return "draws other than 0 and 1"
    variance = p * (1 - p)
    if sigmas(y.sum(), p.sum(), variance.sum()) > MAX_MEAN_SIGMAS:
        return f"{y.sum():g} ones where {p.sum():.1f} are expected"
    # (y - p)^2 has mean p(1-p) and variance p(1-p)(1-2p)^2.
    spread = (variance * (1 - 2 * p) ** 2).sum()
    if sigmas(((y - p) ** 2).sum(), variance.sum(), spread) > MAX_VARIANCE_SIGMAS:
        return "the draws do not follow their probabilities"
    return None


def judge_dropout(ratio, x, y, mask=None):
    kept = y != 0
    if not np.allclose(y[kept], x[kept] / (1 - ratio), rtol=1e-3):
        return "kept elements are not scaled by 1 / (1 - ratio)"
    if mask is not None and not np.array_equal(mask & (x != 0), kept):
        return "the mask does not say which elements were kept"
    if sigmas(kept.sum(), x.size * (1 - ratio), x.size * ratio * (1 - ratio)) > MAX_MEAN_SIGMAS:
        return f"{kept.sum()} of {x.size} elements kept at ratio {ratio}"
    return None


def judge_random(rule, inputs, outputs):
    if rule["kind"] == "dropout":
        return judge_dropout(rule["ratio"], inputs[0], *outputs)
    p = inputs[0].astype(np.float64)
    return judge_bernoulli(1 - p if rule["inverted"] else p, outputs[0])


def judge_case(case, folder, saved):
    """case: what case.json holds; folder: the case's own; saved: where the answers are."""
    outputs = []
    for i, name in enumerate(case["outputs"]):
        try:
            actual = np.load(output_file(saved, name))
        except (OSError, ValueError) as error:
            return f"{name}: {error}"
        expected = np.load(folder / f"out_{i}.npy")
        problem = compare_types(actual, expected)
        if problem is None and not case["random"]:
            if name in case["bfloat16"]:
                actual, expected = widen_bfloat16(actual), widen_bfloat16(expected)
            problem = compare_values(actual, expected, case["rtol"], case["atol"])
        if problem:
            return f"{name}: {problem}"
        outputs.append(actual)
    if not case["random"]:
        return None
    inputs = [np.load(folder / f"in_{i}.npy") for i in range(len(case["inputs"]))]
    return judge_random(case["random"], inputs, outputs)
