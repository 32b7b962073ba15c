#!/usr/bin/python3
"""The command line's contract, from outside: cli_test.py SHOAL [PART OF A TEST'S NAME]"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

from digit_arrays import write_digits
from harness import TIMEOUT, run_tests, shoal


def commands():
    """Those that `shoal --help` lists."""
    listed = shoal("--help").stdout.split("\nSubcommands:\n")[1].split("\nExamples:\n")[0]
    return re.findall(r"^  (\w[\w-]*)", listed, re.MULTILINE)


def test_every_command_teaches_by_example(_):
    assert {"run", "bench", "train", "cluster", "doctor"} <= set(commands()), commands()
    for command in commands():
        text = shoal(command, "--help").stdout
        assert "Examples:" in text and f"shoal {command}" in text, command


def test_without_a_model_the_built_in_one_answers(_):
    rows = json.loads(shoal("run", "--json").stdout)
    assert [row["digit"] for row in rows] == list(range(10)), rows
    assert "sample_7.png" in shoal("run").stdout


def test_every_device_flag_lists_the_devices(_):
    data = ["--data", "d", "--format", "idx"]
    for command, more in (("run", []), ("bench", []), ("profile", []), ("convert", ["-o", "x.onnx"]), ("eval", data),
                          ("train", [*data, "-o", "x.onnx"]), ("shrink", [*data, "-o", "x.onnx"]),
                          ("exits", [*data, "-o", "x.onnx"]), ("tprune", ["--inputs", "x.npy", "-o", "x.onnx"]),
                          ("specialise", [*data, "--classes", "1,2", "-o", "x.onnx"]),
                          ("branch", [*data, "--branches", 2])):
        text = " ".join(shoal(command, "--help").stdout.split())
        assert "reference (slow and plain)" in text and "hybrid:FIRST+FALLBACK" in text, command
        done = shoal(command, "zoo:digits", *more, "--device", "abacus", expect=2)
        assert "no device abacus; there are" in done.stderr, done.stderr


def test_a_head_that_is_not_known_is_refused(tmp):
    done = shoal("watch", str(tmp), "--model", "zoo:lenet5", "--head", "hydra", expect=2)
    assert "hydra" in done.stderr and "yolox" in done.stderr, done.stderr
    done = shoal("watch", str(tmp / "none"), "--model", "zoo:lenet5", expect=2)
    assert "there is no" in done.stderr, done.stderr
    done = shoal("watch", str(tmp), "--model", "zoo:lenet5", "--delta", "-1", expect=2)
    assert "from 0 on" in done.stderr, done.stderr
    done = shoal("watch", str(tmp), "--model", "zoo:lenet5", "--key-frames", "0", expect=2)
    assert "a number of frames" in done.stderr, done.stderr
    done = shoal("watch", "zoo:scene", "--key-frames", "4", "--delta", "auto", expect=2)
    assert "exclude each other" in done.stderr, done.stderr


def test_a_scene_is_watched_by_key_frames(tmp):
    done = shoal("watch", "zoo:scene", "--key-frames", "4", "--frames", 8, "--jsonl", tmp / "k.jsonl", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["frames"] == 8 and result["macs_share"] < 1, result
    frames = [json.loads(line) for line in (tmp / "k.jsonl").read_text().splitlines()]
    assert [len(frame["boxes"]) for frame in frames] == [4] * 8, frames


def test_a_scene_is_watched_without_a_file(tmp):
    done = shoal("watch", "zoo:scene", "--gate", "auto", "--track", "--frames", 60, "--jsonl", tmp / "f.jsonl", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["frames"] == 60 and result["skipped"] > 20, result
    assert abs(result["macs_share"] - (1 - result["skipped"] / 60)) < 1e-9, result
    assert {"fps", "latency_ms_p50", "latency_ms_p99", "changed"} <= set(result), result
    lines = [json.loads(line) for line in (tmp / "f.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines] == list(range(60))
    assert {box["id"] for box in lines[-1]["boxes"]} == {1, 2, 3, 4}, lines[-1]


def test_a_video_is_watched_where_it_can_be_decoded(tmp):
    (tmp / "v.y4m").write_bytes(b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\n" + 5 * (b"FRAME\n" + bytes(64 * 48 * 3 // 2)))
    (tmp / "bad.mp4").write_bytes(b"no video")
    decoder = pathlib.Path(sys.argv[1]).parent / "shoal-decode"
    if decoder.exists():
        done = shoal("watch", tmp / "v.y4m", "--model", "zoo:scene", "--json")
        assert json.loads(done.stdout.splitlines()[-1])["frames"] == 5, done.stdout
    done = shoal("watch", tmp / "bad.mp4", "--model", "zoo:scene", "--json", expect=2)
    assert ("Invalid data" if decoder.exists() else "shoal-video") in done.stderr, done.stderr


def test_a_missing_part_can_be_had_in_two_ways(tmp):
    lonely = shutil.copy(sys.argv[1], tmp / "shoal")  # nothing that it loads is beside it
    (tmp / "v.mp4").write_bytes(b"no video")
    asked = []
    if "serve" in commands():
        asked.append(("shoal-grpc", "tools/setup grpc", ["serve", "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]))
    if not pathlib.Path("/usr/libexec/shoal/shoal-decode").exists():
        asked.append(("shoal-video", "tools/setup video", ["watch", tmp / "v.mp4", "--model", "zoo:scene"]))
    for package, source, words in asked:
        done = subprocess.run([lonely, *words], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode != 0, words
        for part in (package, source, "make all"):
            assert part in done.stderr, done.stderr
    done = shoal("run", "--device", "opencl:0", expect=None)
    if done.returncode != 0:
        assert "opencl" in done.stderr and "make all" in done.stderr, done.stderr


def test_flags_mean_the_same_in_all_commands(tmp):
    for flag in ("-o", "--out", "--output"):
        shoal("zoo", "lenet5", flag, tmp / "a.onnx")
        assert shoal("convert", tmp / "a.onnx", flag, tmp / "b.onnx").returncode == 0
        assert flag in shoal("train", "--help").stdout and flag in shoal("watch", "--help").stdout, flag
    for limit in ("--frames", "--limit"):
        done = shoal("watch", "zoo:scene", limit, 3, "--json")
        assert json.loads(done.stdout.splitlines()[-1])["frames"] == 3, done.stdout
    for page in ("--html", "--report"):
        for command in ("plan", "train", "shrink", "search", "fit-cluster"):
            assert page in shoal(command, "--help").stdout, (page, command)
    refused = shoal("specialise", "zoo:lenet5", "--per-class", -3, expect=2).stderr
    assert "0 or more, not -3" in refused, refused


def test_several_sources_have_their_turns_and_their_pictures(tmp):
    done = shoal("watch", "zoo:scene", "zoo:scene", "--frames", 30, "--zone", "left=0,0,0.5,0,0.5,1,0,1", "--line",
                 "middle=384,0,384,576", "--out", tmp / "seen", "--jsonl", tmp / "f.jsonl", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["frames"] == 60 and [one["frames"] for one in result["sources"]] == [30, 30], result
    lines = [json.loads(line) for line in (tmp / "f.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines] == sorted(2 * list(range(30))), "in turn"
    entered = [event for line in lines for event in line.get("events", []) if event["event"] == "entered"]
    assert len(entered) == sum(one["zones"]["left"]["entered"] for one in result["sources"]) > 0, result
    for name in ("zoo_scene", "zoo_scene_2"):
        pictures = sorted((tmp / "seen" / name).iterdir())
        assert len(pictures) == 30 and pictures[0].read_bytes()[:2] == b"\xff\xd8", pictures
    assert "fewer than three" in shoal("watch", "zoo:scene", "--zone", "z=1,2,3,4", expect=2).stderr
    assert "mqtt://" in shoal("watch", "zoo:scene", "--mqtt", "localhost", expect=2).stderr


def test_a_video_and_clips_are_written_where_they_can_be_encoded(tmp):
    args = ("watch", "zoo:scene", "--frames", 12, "--out", tmp / "seen.mp4", "--clips", tmp / "clips", "--json")
    if not (pathlib.Path(sys.argv[1]).parent / "shoal-encode").exists():
        assert "shoal-video" in shoal(*args, expect=2).stderr
        return
    shoal(*args)
    again = shoal("watch", tmp / "seen.mp4", "--model", "zoo:scene", "--json")
    assert json.loads(again.stdout.splitlines()[-1])["frames"] == 12, again.stdout
    assert [one.name for one in (tmp / "clips").iterdir()] == ["zoo_scene-000001.mp4"]


def test_a_search_without_data_says_so(tmp):
    done = shoal("search", "--data", str(tmp), "--format", "idx", "-o", str(tmp / "found"), expect=2)
    assert "train-images" in done.stderr, done.stderr
    done = shoal("search", "--data", str(tmp), "--format", "idx", "--on", "toaster", "-o", "x", expect=2)
    assert "toaster" in done.stderr and "pi4" in done.stderr, done.stderr


def test_a_usage_error_is_exit_2_and_leaves_stdout_empty(tmp):
    for args in (["nonsense"], ["run", "--nonsense"], [], ["bench"], ["run", "--input", "missing.npy"],
                 ["run", "--input", "nosuch=x.npy"], ["zoo", "nosuch", "-o", tmp / "x.onnx"],
                 ["eval", "zoo:digits", "--data", tmp / "absent", "--format", "idx"]):
        done = shoal(*args, expect=2)
        assert done.stdout == "" and done.stderr.strip(), args


def test_an_input_that_does_not_fit_is_named(tmp):
    np.save(tmp / "x.npy", np.zeros((1, 1, 27, 28), np.float32))
    message = shoal("run", "--input", f"image={tmp / 'x.npy'}", expect=2).stderr
    assert "image" in message and "[1,1,27,28]" in message, message
    np.save(tmp / "x.npy", np.zeros((1, 1, 28, 28), np.int64))
    assert "i64" in shoal("run", "--input", tmp / "x.npy", expect=2).stderr


def test_a_refused_model_is_exit_3_and_one_line(tmp):
    (tmp / "bad.onnx").write_bytes(b"this is no model")
    for command in ("run", "inspect", "bench", "profile"):
        done = shoal(command, tmp / "bad.onnx", expect=3)
        assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr


def test_outputs_are_saved_by_name(tmp):
    np.save(tmp / "x.npy", np.zeros((3, 1, 28, 28), np.float32))
    shoal("run", "zoo:digits", "--input", f"image={tmp / 'x.npy'}", "--save", tmp / "out")
    assert np.load(tmp / "out" / "scores.npy").shape == (3, 10)


def test_top_and_labels(tmp):
    (tmp / "labels.txt").write_text("\n".join(f"the {d}" for d in range(10)))
    sample = pathlib.Path(__file__).resolve().parents[2] / "shoal/model/zoo/digits/sample_4.png"
    text = shoal("run", "--input", sample, "--top", 2, "--labels", tmp / "labels.txt").stdout
    assert re.search(r"^1\s+the 4", text, re.M), text
    best = json.loads(shoal("run", "--input", sample, "--top", 2, "--json").stdout)["scores"]["top"]
    assert best[0]["index"] == 4 and len(best) == 2


def test_presets_are_kept(tmp):
    env = {"XDG_CONFIG_HOME": str(tmp)}
    sample = pathlib.Path(__file__).resolve().parents[2] / "shoal/model/zoo/digits/sample_4.png"
    shoal("run", "--input", sample, "--mean", "0.5", "--stretch", "--save-preset", "mine", env=env)
    kept = json.loads((tmp / "shoal" / "presets" / "mine.json").read_text())
    assert kept["mean"] == [0.5] and kept["stretch"]
    shoal("run", "--input", sample, "--preset", "mine", env=env)
    shoal("run", "--input", sample, "--preset", "other", env=env, expect=2)
    shoal("run", "--input", sample, "--preset", "../mine", env=env, expect=2)


def test_inspect_counts(tmp):
    facts = json.loads(shoal("inspect", "zoo:lenet5", "--json").stdout)
    assert facts["parameters"] == 431080, facts["parameters"]
    assert facts["macs"] > 0 and facts["peak_activation_bytes"] >= facts["lower_bound_bytes"] > 0
    assert facts["operators"]["Conv"] == 2
    for flag in ("--passes", "--text", "--optimized"):
        assert shoal("inspect", "zoo:lenet5", flag).stdout.strip()


def test_zoo_convert_and_run_agree(tmp):
    shoal("zoo", "lenet5", "-o", tmp / "a.onnx")
    shoal("convert", tmp / "a.onnx", "-o", tmp / "b.onnx", "--optimize")
    x = json.loads(shoal("inspect", tmp / "a.onnx", "--json").stdout)["inputs"][0]
    shape = [int(d) for d in re.search(r"\[(.*)\]", x["type"])[1].split(",")]
    np.save(tmp / "x.npy", np.random.default_rng(1).random(shape, np.float32))
    answers = []
    for i, model in enumerate(["zoo:lenet5", tmp / "a.onnx", tmp / "b.onnx"]):
        for device in ("cpu", "reference", "hybrid:reference+cpu"):
            out = tmp / f"{i}{device}"
            shoal("run", model, "--input", tmp / "x.npy", "--save", out, "--device", device)
            answers.append(np.load(next(out.glob("*.npy"))))
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], rtol=1e-4, atol=1e-5)


def test_convert_to_8_bits_keeps_the_answers(tmp):
    samples = pathlib.Path(__file__).resolve().parents[2] / "shoal/model/zoo/digits"
    facts = json.loads(shoal("convert", "zoo:digits", "--int8", "--calibrate", samples, "--json",
                             "-o", tmp / "int8.onnx").stdout)
    assert facts["compressed"] == facts["products"] == 4 and facts["examples"] == 10, facts
    assert facts["bytes"] == (tmp / "int8.onnx").stat().st_size
    for digit in range(10):
        answer = shoal("run", tmp / "int8.onnx", "--input", samples / f"sample_{digit}.png", "--top", 1, "--json")
        assert json.loads(answer.stdout)["scores"]["top"][0]["index"] == digit
    for device in ("cpu", "systolic"):
        shoal("run", tmp / "int8.onnx", "--input", samples / "sample_3.png", "--save", tmp / device, "--device", device)
    a, b = (np.load(next((tmp / device).glob("*.npy"))) for device in ("cpu", "systolic"))
    assert np.array_equal(a, b), (a, b)
    assert "random" in shoal("convert", "zoo:lenet5", "--int8", "-o", tmp / "random.onnx").stderr
    shoal("convert", "zoo:lenet5", "--int8", "--device", "reference", "-o", tmp / "slow.onnx")
    assert (tmp / "slow.onnx").stat().st_size == (tmp / "random.onnx").stat().st_size


def test_shrink_writes_a_smaller_network_and_its_controls(tmp):
    write_digits(tmp)
    words = ["shrink", "zoo:digits", "--data", tmp, "--format", "npy", "--batch", 20, "--epochs", 1, "--rate", 0.005,
             "--seconds", 0.01, "-o", tmp / "small.onnx"]
    done = shoal(*words, "--target", "macs=0.6,parameters=0.7", "--controls", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["macs"] <= 0.6 * result["macs_before"], result
    assert result["parameters"] <= 0.7 * result["parameters_before"], result
    assert {"top1", "top1_dense_control", "top1_scratch", "bytes", "ms", "ms_before", "ms_predicted", "epochs",
            "seconds", "removed", "refused", "front"} <= result.keys(), result
    assert result["bytes"] == (tmp / "small.onnx").stat().st_size
    assert result["top1_scratch"] < result["top1"] < 100.1, result
    better = [control for control in ("scratch", "random") if result[f"top1_{control}"] > result["top1"]]
    assert result["lost_to"] == better, result
    # What it says of the file is what others see in it.
    seen = json.loads(shoal("eval", tmp / "small.onnx", "--data", tmp, "--format", "npy", "--json").stdout)
    assert seen["top1"] == result["top1"], (seen, result)
    facts = json.loads(shoal("inspect", tmp / "small.onnx", "--json").stdout)
    assert (facts["macs"], facts["parameters"]) == (result["macs"], result["parameters"]), facts
    assert "dense control" in done.stderr


def test_shrink_loses_no_more_than_it_may(tmp):
    write_digits(tmp)
    words = ["shrink", "zoo:digits", "--data", tmp, "--format", "npy", "--batch", 20, "--epochs", 1, "--rate", 0.005,
             "--seconds", 0, "--json", "-o", tmp / "small.onnx", "--target", "units=0.05"]
    for most in 1e-9, 20:
        done = shoal(*words, "--max-drop", most, expect=9)
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["top1_dense_control"] - result["top1"] <= most, result
        assert result["top1_dense_control"] - result["missed"][0]["top1"] > most, result
        assert "points of top-1, not" in done.stderr, done.stderr
        facts = json.loads(shoal("inspect", tmp / "small.onnx", "--json").stdout)
        assert facts["macs"] == result["macs"] > result["missed"][0]["macs"], (facts, result)


def test_shrink_meets_a_time_on_a_device(tmp):
    write_digits(tmp)
    words = ["shrink", "zoo:digits", "--data", tmp, "--format", "npy", "--batch", 20, "--epochs", 1, "--rate", 0.005,
             "--seconds", 0.01, "--json", "-o", tmp / "small.onnx"]
    result = json.loads(shoal(*words, "--target", "ms=0.6x", "--device", "pi4").stdout.splitlines()[-1])
    assert result["device"] == "pi4" and result["ms_predicted"] <= 0.6 * result["ms_predicted_before"], result
    assert result["ms"] > 0 and result["macs"] < result["macs_before"], result
    result = json.loads(shoal(*words, "--target", "ms=0.9x,macs=0.4", "--device", "pi4").stdout.splitlines()[-1])
    assert result["ms_predicted"] <= 0.9 * result["ms_predicted_before"], result
    assert result["macs"] <= 0.4 * result["macs_before"], result
    assert "two times" in shoal(*words, "--target", "ms=0.6,ms=0.5x", expect=2).stderr
    assert "at least" in shoal(*words, "--target", "ms=1e-6", "--device", "pi4", expect=3).stderr


def test_shrink_says_what_is_wrong(tmp):
    write_digits(tmp)
    words = ["shrink", "zoo:digits", "--data", tmp, "--format", "npy", "-o", tmp / "small.onnx"]
    assert "macs=0.5" in shoal(*words, "--target", "half", expect=2).stderr
    assert "must stay" in shoal(*words, "--target", "macs=0.001", "--method", "magnitude", expect=3).stderr
    untrained = [word if word != "zoo:digits" else "zoo:mlp" for word in words]
    assert "train it first" in shoal(*untrained, expect=2).stderr
    shoal(*words, "--method", "guess", expect=2)
    assert not (tmp / "small.onnx").exists()


def test_tprune_learns_from_arrays(tmp):
    rng = np.random.default_rng(1)
    np.save(tmp / "images.npy", rng.random((40, 1, 28, 28), np.float32))
    np.save(tmp / "labels.npy", rng.integers(0, 10, 40))
    words = ["tprune", "zoo:digits", "--inputs", tmp / "images.npy", "--test-inputs", tmp / "images.npy", "--batch", 10,
             "--epochs", 1, "--measure", 0, "--target", "macs=0.7", "-o", tmp / "small.onnx"]
    for labels in [], ["--labels", tmp / "labels.npy", "--test-labels", tmp / "labels.npy", "--control"]:
        result = json.loads(shoal(*words, *labels, "--json").stdout)
        facts = json.loads(shoal("inspect", tmp / "small.onnx", "--json").stdout)
        assert (facts["macs"], facts["parameters"]) == (result["macs"], result["parameters"]), (facts, result)
        assert result["macs"] <= 0.7 * result["macs_before"] and result["removed"] and result["blocks"], result
        assert (result["score_dense_control"] is None) == (not labels), result
    assert "as given" in shoal(*words).stdout
    assert "both have labels" in shoal(*words, "--labels", tmp / "labels.npy", expect=2).stderr
    np.save(tmp / "images.npy", np.zeros((40, 1, 27, 28), np.float32))
    assert "27" in shoal(*words, expect=2).stderr


def test_exits_write_a_network_that_answers_early(tmp):
    write_digits(tmp)
    words = ["exits", "zoo:digits", "--data", tmp, "--format", "npy", "--batch", 20, "--epochs", 2, "--at", "auto:2",
             "--precision", 0.6, "--risk", 0.2, "--stages", tmp / "stages", "-o", tmp / "multi.onnx", "--json"]
    result = json.loads(shoal(*words).stdout.splitlines()[-1])
    assert len(result["exits"]) == 2 and len(result["exit_share"]) == len(result["exit_precision"]) == 3, result
    assert result["top1_last"] == result["top1_before"], result
    assert result["mean_macs"] <= sum(result["stage_macs"]), result
    data = ["--data", tmp, "--format", "npy", "--json"]
    # What it says of the file is what others see in it.
    seen = json.loads(shoal("eval", tmp / "multi.onnx", "--exits", "calibrated", *data).stdout)
    for key in "top1", "exit_share", "exit_precision", "mean_macs":
        assert seen[key] == result[key], (key, seen, result)
    late = json.loads(shoal("eval", tmp / "multi.onnx", "--exits", "2,2", *data).stdout)
    assert late["exit_share"] == [0, 0, 1] and late["mean_macs"] == sum(result["stage_macs"]), late
    # To others it is the classifier that it was.
    assert json.loads(shoal("eval", tmp / "multi.onnx", *data).stdout)["top1"] == result["top1_before"] == late["top1"]
    assert len(list((tmp / "stages").iterdir())) == 3
    assert "exit" in shoal("eval", tmp / "multi.onnx", "--exits", "0.9,0.9", *data[:-1]).stdout


def test_shrink_writes_variants_in_the_bytes_of_one(tmp):
    write_digits(tmp)
    words = ["shrink", "zoo:digits", "--data", tmp, "--format", "npy", "--batch", 20, "--epochs", 1, "--seconds", 0,
             "--target", "macs=0.3", "--variants", 3, "-o", tmp / "variants", "--json"]
    result = json.loads(shoal(*words).stdout.splitlines()[-1])
    assert len(result["variants"]) + len(result["dominated"]) == 3, result
    files = {file.name: file.stat().st_size for file in (tmp / "variants").iterdir()}
    assert set(files) == {"largest.onnx", "own.safetensors", "index.json"}, files
    assert result["folder_bytes"] == sum(files.values()) and result["bytes_ratio"] <= 1.1, result
    index = json.loads((tmp / "variants" / "index.json").read_text())
    assert [variant["name"] for variant in index["variants"]] == [variant["name"] for variant in result["variants"]]
    # The widest is a model like any other.
    seen = json.loads(shoal("eval", tmp / "variants" / "largest.onnx", "--data", tmp, "--format", "npy", "--json").stdout)
    assert seen["top1"] == result["variants"][0]["top1"], (seen, result)


def test_catalog_build_goes_on_and_list_reads_it(tmp):
    write_digits(tmp)
    (tmp / "task.toml").write_text(f'''
model = "zoo:digits"
data = "{tmp}"
format = "npy"
batch = 20
epochs = 1
rate = 0.005
seconds = 0.01
[widths]
count = 3
target = "macs=0.3"
[[variant]]
name = "eight"
method = "int8"
''')
    words = ["catalog", "build", tmp / "task.toml", "-o", tmp / "digits", "--json"]
    first, again = (json.loads(shoal(*words).stdout.splitlines()[-1]) for _ in range(2))
    assert (first["kept"], again["kept"]) == ([], ["widths", "eight"]), (first, again)
    files = {file.name: file.stat().st_size for file in (tmp / "digits").iterdir()}
    assert again["folder_bytes"] == sum(files.values()) and again["nested_ratio"] <= 1.1, (again, files)
    listed = json.loads(shoal("catalog", "list", tmp / "digits", "--json").stdout)["tasks"][0]
    assert [one["variant"] for one in listed["options"]] == [one["name"] for one in again["variants"]]
    assert all(one["ms"] > 0 and one["joules"] > 0 for one in listed["options"]), listed
    (tmp / "task.toml").write_text('model = "zoo:digits"\ndata = "."\nformat = "npy"\nwidth = 3')
    assert "unknown key width" in shoal(*words, expect=2).stderr


def test_specialise_writes_a_network_for_a_few_classes(tmp):
    data = tmp / "data"  # without what is written here: the cache knows the files of the data
    data.mkdir()
    write_digits(data)
    words = ["specialise", "zoo:digits", "--data", data, "--format", "npy", "--batch", 20, "--epochs", 2,
             "--classes", "1,4,7", "-o", tmp / "special.onnx", "--json"]
    result = json.loads(shoal(*words, "--controls").stdout.splitlines()[-1])
    assert result["weights_error"] <= 1e-6 and not result["warm"], result
    assert result["macs"] < result["macs_general"] and result["cascade_cost"] > 0, result
    again = json.loads(shoal(*words).stdout.splitlines()[-1])
    assert again["warm"] and again["top1"] == result["top1"], again
    assert "no class 99" in shoal(*words, "--classes", "99", expect=2).stderr
    assert "augmentation" in shoal(*words, "--flip", expect=2).stderr


def test_branch_writes_branches_that_exchange_nothing(tmp):
    write_digits(tmp)
    words = ["branch", "zoo:digits", "--data", tmp, "--format", "npy", "--batch", 20, "--epochs", 1, "--branches", 4,
             "-o", tmp / "lcp.onnx", "--json"]
    result = json.loads(shoal(*words).stdout.splitlines()[-1])
    assert result["branches"] == 4 and result["messages"] == 8 and len(result["top1_lost"]) == 4, result
    assert 0 < result["parameters"] < result["parameters_dense"] and result["top1_same_macs"] >= 0, result
    seen = json.loads(shoal("eval", tmp / "lcp.onnx", "--data", tmp, "--format", "npy", "--json").stdout)
    assert seen["top1"] == result["top1"], (seen, result)
    # Without data it says what it would be.
    wider = json.loads(shoal("branch", "zoo:lenet5", "--branches", 4, "--fatten", 40, "-o", tmp / "wider.onnx",
                             "--json").stdout)
    assert wider["fatten"] == 40 and wider["ms"] < wider["ms_ordinary"] and "top1" not in wider, wider
    plan = json.loads(shoal("plan", tmp / "wider.onnx", "--workers", 4, "--device", "pi3", "--link", "ethernet-100",
                            "--json").stdout)
    seen = {other["name"]: other["predicted_ms"] for other in plan["alternatives"]} | {plan["kind"]: plan["predicted_ms"]}
    assert abs(seen["branches"] - wider["ms"]) < 1e-6 * wider["ms"] and plan["predicted_ms"] <= seen["branches"], plan
    assert "do not pay" in shoal("branch", "zoo:mlp", "--branches", 2, "--link", "wifi-32").stdout


def test_branch_says_what_is_wrong(_):
    for more, why in ((["--branches", "x"], "a number, or auto"), (["--branches", 1], "2 to 256 branches"),
                      (["--branches", 2, "--fatten", "x"], "percent"), (["--widths", "1,x"], "1,2,4"),
                      (["--branches", "auto"], "one worker has the memory"),
                      (["--branches", 2, "--worker", "abacus"], "no device abacus"),
                      (["--branches", 2, "--data", "d"], "needs format")):
        assert why in shoal("branch", "zoo:digits", *more, expect=2).stderr, more
    assert "needs one input" in shoal("branch", "zoo:seq2seq", "--branches", 2, expect=2).stderr


def test_exits_say_what_is_wrong(tmp):
    write_digits(tmp)
    words = ["exits", "zoo:digits", "--data", tmp, "--format", "npy", "-o", tmp / "multi.onnx"]
    assert "no value nowhere" in shoal(*words, "--at", "nowhere", expect=2).stderr
    assert "places for 60 exits" in shoal(*words, "--at", "auto:60", expect=2).stderr
    assert "auto:2" in shoal(*words, "--at", "auto:x", expect=2).stderr
    shoal(*words, "--precision", "1.5", expect=2)
    shoal(*words, "--max-drop", "1", "--precision", "0.9", expect=2)
    untrained = [word if word != "zoo:digits" else "zoo:mlp" for word in words]
    assert "train it first" in shoal(*untrained, expect=2).stderr
    assert not (tmp / "multi.onnx").exists()
    data = ["--data", tmp, "--format", "npy"]
    assert "has no exits" in shoal("eval", "zoo:digits", *data, "--exits", "0.9", expect=3).stderr


def test_convert_to_8_bits_says_what_is_wrong(tmp):
    convert = ["convert", "zoo:digits", "-o", tmp / "x.onnx"]
    (tmp / "empty").mkdir()
    (tmp / "other").mkdir()
    np.save(tmp / "other" / "x.npy", np.zeros((2, 3), np.float32))
    for folder, why in (("absent", "cannot read"), ("empty", "no .jpg"), ("other", "f32[2,3]")):
        message = shoal(*convert, "--int8", "--calibrate", tmp / folder, expect=2).stderr
        assert why in message, message
    for flag in ["--calibrate", tmp], ["--device", "cpu"]:
        assert "is for a method of compression" in shoal(*convert, *flag, expect=2).stderr
    for method, flag in (("--int8", "--target"), ("--svd", "--target"), ("--tucker", "--target"),
                         ("--magnitude", "--calibrate"), ("--magnitude", "--limit")):
        value = {"--target": "macs=0.5", "--calibrate": tmp, "--limit": 3}[flag]
        assert f"{method} does not read {flag}" in shoal(*convert, method, flag, value, expect=2).stderr
    shoal(*convert, "--int8", "--optimize", expect=2)
    assert not (tmp / "x.onnx").exists()


def test_convert_says_why_nothing_was_factorised(tmp):
    """Random weights have no rank that is both lower and accurate."""
    for method in "svd", "tucker":
        message = shoal("convert", "zoo:lenet5", f"--{method}", "-o", tmp / "x.onnx", expect=3).stderr
        assert "none of 4 products was replaced" in message and "conv" in message.lower(), message
    assert not (tmp / "x.onnx").exists()


def test_bench_prints_one_object(_):
    result = json.loads(shoal("bench", "zoo:lenet5", "--threads", 1, "--seconds", 0.05, "--json").stdout)
    for key in ("median_ms", "p10_ms", "p90_ms", "runs", "open_ms", "peak_rss_mb"):
        assert result[key] > 0, key
    assert result["p10_ms"] <= result["median_ms"] <= result["p90_ms"]
    assert result["noise"] >= 0 and result["threads_used"] == 1, result


def test_bench_of_several_clients(_):
    result = json.loads(shoal("bench", "zoo:lenet5", "--clients", 3, "--seconds", 0.05, "--json").stdout)
    assert result["clients"] == 3 and result["requests"] >= 3, result
    assert 0 < result["p50_ms"] <= result["p99_ms"], result
    rate = result["requests"] / result["seconds"]
    assert abs(result["requests_per_s"] / rate - 1) < 1e-6, result
    shoal("bench", "zoo:lenet5", "--clients", 3, "--train", expect=2)


def test_bench_measures_once_a_turn(_):
    lines = shoal("bench", "zoo:lenet5", "--turns", stdin="0\n0.05\n").stdout.splitlines()
    short, long = map(json.loads, lines)
    assert short["runs"] == 3 < long["runs"] and short["first_ms"] == long["first_ms"], lines


def test_bench_counts_its_own_memory_only(_):
    ballast = np.ones(400 * 2**20, np.uint8)  # more than it takes with sanitizers
    result = json.loads(shoal("bench", "zoo:lenet5", "--seconds", 0, "--json").stdout)
    assert result["peak_rss_mb"] < ballast.size / 2**20, result


def test_profile_writes_a_trace(tmp):
    shoal("profile", "zoo:lenet5", "--trace", tmp / "t.json", "--runs", 2)
    events = json.loads((tmp / "t.json").read_text())["traceEvents"]
    assert events and all(e["ph"] == "X" and e["dur"] >= 0 for e in events)


def test_profile_counts_every_layer(_):
    result = json.loads(shoal("profile", "zoo:lenet5", "--no-optimize", "--json", "--runs", 1, "--device", "reference").stdout)
    layers = result["layers"]
    assert [layer["operator"] for layer in layers].count("Conv") == 2, layers
    assert all(layer["median_ms"] >= 0 and layer["tuning"] is None for layer in layers), layers
    assert result["by_kernel"]["reorder"] == 0, result
    assert np.isclose(sum(result["by_kernel"].values()), result["total_ms"]), result
    assert np.isclose(sum(layer["median_ms"] for layer in layers), result["total_ms"]), result


def test_eval_gate(tmp):
    images, labels = np.zeros((4, 28, 28), np.uint8), np.zeros(4, np.uint8)
    header = bytes([0, 0, 8, 3]) + np.array([4, 28, 28], ">u4").tobytes()
    (tmp / "t10k-images-idx3-ubyte").write_bytes(header + images.tobytes())
    (tmp / "t10k-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + np.array([4], ">u4").tobytes() + labels.tobytes())
    args = ["eval", "zoo:digits", "--data", tmp, "--format", "idx", "--json"]
    result = json.loads(shoal(*args).stdout)
    assert result["images"] == 4 and 0 <= result["top1"] <= result["top5"] <= 100
    shoal(*args, "--min-top1", 101, expect=9)
    (tmp / "t10k-labels-idx1-ubyte").write_bytes(b"junk")
    shoal(*args, expect=2)


def test_completions_are_valid_shell(tmp):
    script = shoal("completions", "bash").stdout
    (tmp / "c.bash").write_text(script)
    subprocess.run(["bash", "-n", tmp / "c.bash"], check=True)
    reply = subprocess.run(["bash", "-c", f"source {tmp / 'c.bash'}; COMP_WORDS=(shoal in); COMP_CWORD=1; _shoal; "
                            "echo ${COMPREPLY[@]}"], capture_output=True, text=True, check=True).stdout
    assert "inspect" in reply, reply
    assert "complete -c shoal" in shoal("completions", "fish").stdout


def test_doctor_is_well(_):
    assert "10 of 10" in shoal("doctor").stdout


def test_colour_only_on_a_terminal(_):
    assert "\033" not in shoal("operators").stdout


if __name__ == "__main__":
    run_tests(globals())
