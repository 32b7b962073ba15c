#!/usr/bin/python3
"""`shoal shrink` on drawn digits: the same flags give the same file, to the byte, and so do a recipe and
a run that was interrupted; the report has the numbers of the JSON.

Usage: shrink_command.py SHOAL
"""
import html
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from digit_scripts import finished, needs, passed, run, write_digits

np, onnx, numpy_helper = needs("numpy", "onnx", "onnx.numpy_helper")


def words_of(at, out, *more, epochs=2, seconds=0):
    return ["shrink", at / "mlp.onnx", "--data", at / "data", "--format", "npy", "--batch", "50", "--epochs",
            epochs, "--threads", "2", "--shift", "1", "--seconds", seconds, "--json", "-o", out, *more]


def shrink(shoal, at, out, *more, **how):
    return json.loads(finished(shoal, *words_of(at, out, *more, **how)).stdout.splitlines()[-1])


def gives_the_same_bytes(shoal, at):
    """Which are those of a network without subnormal numbers and idle channels, judged as it is."""
    result = shrink(shoal, at, at / "small.onnx")
    shrink(shoal, at, at / "again.onnx")
    small = (at / "small.onnx").read_bytes()
    assert small == (at / "again.onnx").read_bytes()
    assert result["bytes"] == len(small)
    shrink(shoal, at, at / "other.onnx", "--seed", "2")
    assert small != (at / "other.onnx").read_bytes()
    seen = json.loads(finished(shoal, "eval", at / "small.onnx", "--data", at / "data", "--format",
                               "npy", "--json").stdout)
    assert seen["top1"] == result["top1"], (seen, result)
    is_tidy(at / "small.onnx")


def is_tidy(path):
    """No subnormal number, no channel of zeros, no node that no output depends on."""
    model = onnx.load(str(path))
    for weights in model.graph.initializer:
        array = numpy_helper.to_array(weights)
        if array.dtype != np.float32:
            continue
        assert not np.any((array != 0) & (np.abs(array) < np.finfo(np.float32).tiny)), weights.name
        for axis in range(array.ndim if array.ndim > 1 else 0):
            rest = tuple(i for i in range(array.ndim) if i != axis)
            if "fc1" not in weights.name or axis != 1:  # pixels at the edge may be black in all images
                assert np.all(np.any(array, axis=rest)), (weights.name, axis)
    read = {output.name for output in model.graph.output}
    for node in reversed(model.graph.node):
        assert read.intersection(node.output), node
        read.update(node.input)
    assert all(weights.name in read for weights in model.graph.initializer)


def says_what_the_file_is(shoal, at):
    """The numbers of the report are those that other commands give for the file."""
    out = at / "measured.onnx"
    result = shrink(shoal, at, out, seconds=0.2)
    seen = json.loads(finished(shoal, "inspect", out, "--json").stdout)
    assert seen["macs"] == result["macs"] < result["macs_before"], (seen, result)
    assert seen["parameters"] == result["parameters"] < result["parameters_before"], (seen, result)
    assert result["bytes"] == out.stat().st_size
    assert result["ms"] > 0 and result["ms_before"] > 0, result  # how long a run takes differs


def keeps_to_the_drop(shoal, at):
    """Or writes the best that does, and says so by its exit code."""
    out = at / "kept.onnx"
    words = words_of(at, out, "--target", "units=0.02", "--max-drop", "0.5")
    done = run(shoal, *words)
    result = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 9 and "points of top-1" in done.stderr, done
    assert result["top1_dense_control"] - result["top1"] <= 0.5, result
    assert result["missed"] and result["top1_dense_control"] - result["missed"][0]["top1"] > 0.5, result
    seen = json.loads(finished(shoal, "eval", out, "--data", at / "data", "--format", "npy", "--json").stdout)
    assert seen["top1"] == result["top1"], (seen, result)
    mild = shrink(shoal, at, at / "mild.onnx", "--target", "macs=0.9", "--max-drop", "50")
    assert not mild["missed"], mild


def puts_factors_in_place_of_layers(shoal, at):
    """Of which none is slower than the layer was; without times to decide by, always the same ones."""
    words = ("--method", "svd", "--target", "macs=0.6")
    result = shrink(shoal, at, at / "svd.onnx", *words)
    shrink(shoal, at, at / "svd2.onnx", *words)
    assert (at / "svd.onnx").read_bytes() == (at / "svd2.onnx").read_bytes()
    assert result["macs"] <= 0.6 * result["macs_before"], result
    assert result["removed"] and all(one["left"] < one["before"] for one in result["removed"]), result
    is_tidy(at / "svd.onnx")
    refused = run(shoal, *words_of(at, at / "tucker.onnx", "--method", "tucker"))
    assert refused.returncode != 0 and "factorise" in refused.stderr, refused


def recipe_repeats_it(shoal, at):
    shrink(shoal, at, at / "first.onnx", "--target", "macs=0.3", "--flip", "--write-recipe", at / "r.toml")
    finished(shoal, "shrink", "--recipe", at / "r.toml", "-o", at / "repeated.onnx")
    assert (at / "first.onnx").read_bytes() == (at / "repeated.onnx").read_bytes()
    (at / "bad.toml").write_text((at / "r.toml").read_text() + "epoch = 3\n")
    refused = run(shoal, "shrink", "--recipe", at / "bad.toml", "-o", at / "bad.onnx")
    assert refused.returncode == 2 and "unknown key epoch" in refused.stderr, refused


def goes_on_after_an_interruption(shoal, at):
    words = words_of(at, at / "torn.onnx", epochs=40)
    finished(shoal, *words_of(at, at / "whole.onnx", epochs=40))
    process = subprocess.Popen([str(word) for word in (shoal, *words)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    process.stderr.readline()  # what goes is decided
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130 and "--resume goes on from" in said, said
    assert (at / "torn.steps" / "choice.safetensors").exists() and not (at / "torn.onnx").exists()
    finished(shoal, *words, "--resume")
    assert (at / "torn.onnx").read_bytes() == (at / "whole.onnx").read_bytes()
    assert not (at / "torn.steps").exists()


def meets_a_time_that_is_measured(shoal, at):
    """By a table of this machine, which is not the same each time; what it decided is."""
    words = words_of(at, at / "fast.onnx", "--target", "ms=0.8x", epochs=40)
    process = subprocess.Popen([str(word) for word in (shoal, *words)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    while "fewer multiply-accumulates" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate()
    choice = (at / "fast.steps" / "choice.safetensors").read_bytes()
    assert process.returncode == 130 and b"state.ms" in choice
    result = json.loads(finished(shoal, *words, "--resume").stdout.splitlines()[-1])
    assert result["ms_predicted"] <= 0.8 * result["ms_predicted_before"], result
    assert result["macs"] < result["macs_before"] and result["device"] == "here", result


def reports_in_one_file(shoal, at):
    result = shrink(shoal, at, at / "r.onnx", "--controls", "--report", at / "r.html")
    page = (at / "r.html").read_text()
    shown = json.loads(html.unescape(re.findall("<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[-1]))
    assert shown == result, (shown, result)
    assert page.count("<rect") == 2 * len(result["removed"]) and "from scratch" in page
    groups = result["sensitivity"]["groups"]
    assert groups and all(len(group["top1"]) == 9 for group in groups), groups
    assert page.count("class=\"heat") == 9 * len(groups)
    assert "://" not in page and "src=" not in page


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shoal = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        write_digits(at / "data", 600, 200)
        finished(shoal, "train", "zoo:mlp", "--data", at / "data", "--format", "npy", "--batch", "50",
                 "--epochs", "3", "-o", at / "mlp.onnx")
        passed((gives_the_same_bytes, says_what_the_file_is, keeps_to_the_drop, recipe_repeats_it,
                goes_on_after_an_interruption, meets_a_time_that_is_measured,
                puts_factors_in_place_of_layers, reports_in_one_file), shoal, at)
    return 0


if __name__ == "__main__":
    sys.exit(main())
