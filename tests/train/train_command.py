#!/usr/bin/python3
"""`shoal train` on drawn digits: what it writes runs elsewhere as well as here, and its flags do what
they say.

Usage: train_command.py SHOAL
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

from digit_scripts import ROOT, finished, needs, passed, run, write_digits

np, onnx, numpy_helper = needs("numpy", "onnx", "onnx.numpy_helper")

PEERS = ROOT / "tests" / "peers"
HELD_OUT = 400


def call(*words):
    return finished(*words).stdout


def words_of_training(model, data, out, *more):
    return ["train", model, "--data", data, "--format", "npy", "--batch", "50", "--threads", "1", "--tune",
            "off", "--optimizer", "adam", "--json", "--out", out, *more]


def train(shoal, *words):
    return json.loads(call(shoal, *words_of_training(*words)).splitlines()[-1])


def weights_of(path):
    return {w.name: numpy_helper.to_array(w) for w in onnx.load(str(path)).graph.initializer}


def result_runs_elsewhere(shoal, at):
    """With the accuracy that training said, in batches of any size."""
    result = train(shoal, "zoo:mlp", at / "ten", at / "mlp.onnx", "--epochs", "15")
    assert result["top1"] > 60, result
    assert {"loss", "epochs", "seconds", "images_per_s", "peak_rss_mb"} <= result.keys()
    seen = json.loads(call(shoal, "eval", at / "mlp.onnx", "--data", at / "ten", "--format", "npy",
                           "--json"))
    assert seen["top1"] == result["top1"], (seen, result)
    onnx.checker.check_model(str(at / "mlp.onnx"), full_check=True)
    if not (PEERS / "node_modules").is_dir() or shutil.which("node") is None:
        print("     ONNX Runtime is not here")
        return
    images = np.load(at / "ten" / "test-images.npy")[:, None].astype(np.float32) / 255
    labels = np.load(at / "ten" / "test-labels.npy")
    np.save(at / "x.npy", images)
    call("node", PEERS / "ort.mjs", "run", at / "mlp.onnx", "--input", f"input={at / 'x.npy'}",
         "--save", at / "ort")
    top1 = 100 * np.mean(np.load(at / "ort" / "output.npy").argmax(1) == labels)
    assert abs(top1 - result["top1"]) < 0.3, (top1, result)  # one image of 400


def does_not_depend_on_loaders(shoal, at):
    for name, loaders in [("one", 1), ("three", 3)]:
        train(shoal, "zoo:mlp", at / "ten", at / f"{name}.onnx", "--epochs", "1", "--shift", "2",
              "--random-crop", "0.9", "--loaders", loaders)
    assert (at / "one.onnx").read_bytes() == (at / "three.onnx").read_bytes()


def retargets_and_freezes(shoal, at):
    result = train(shoal, at / "mlp.onnx", at / "four", at / "four.onnx", "--epochs", "8",
                   "--retarget", "4", "--freeze", "fc1.*", "--weight-decay", "1e-4")
    assert result["top1"] > 60, result
    old, new = weights_of(at / "mlp.onnx"), weights_of(at / "four.onnx")
    assert new["fc3.weight"].shape == (4, 64)
    assert np.array_equal(old["fc1.weight"], new["fc1.weight"])
    assert not np.array_equal(old["fc2.weight"], new["fc2.weight"])


def runs_a_frozen_body_once(shoal, at):
    """Which changes nothing but the time it takes."""
    for name, megabytes in [("again", 0), ("once", 64)]:
        said = finished(shoal, *words_of_training(at / "mlp.onnx", at / "ten", at / f"{name}.onnx", "--epochs",
                                                  "2", "--freeze", "fc[12].*", "--feature-cache", megabytes))
        assert ("has run once" in said.stderr) == (megabytes > 0), said.stderr
    again, once = (weights_of(at / f"{name}.onnx") for name in ("again", "once"))
    for name, weight in again.items():
        assert np.allclose(weight, once[name], rtol=1e-3, atol=1e-5), name
    assert not np.array_equal(once["fc3.weight"], weights_of(at / "mlp.onnx")["fc3.weight"])


def keeps_to_a_memory_limit(shoal, at):
    """Or says what it could do with, and then learns the same there."""
    def learn(name, *more):
        words = [shoal, "train", "zoo:lenet5", "--data", at / "ten", "--format", "npy", "--limit", "200",
                 "--batch", "50", "--epochs", "1", "--threads", "1", "--tune", "off", "--out",
                 at / f"{name}.onnx", *more]
        return run(*words)
    refused = learn("refused", "--memory", "1MB")
    assert refused.returncode == 8 and "at least" in refused.stderr, refused
    least = float(re.search(r"at least ([0-9.]+) MB", refused.stderr)[1])
    assert learn("natural").returncode == 0
    limited = learn("limited", "--memory", f"{least + 0.1}MB")
    assert limited.returncode == 0, limited.stderr
    assert (at / "limited.onnx").read_bytes() == (at / "natural.onnx").read_bytes()


def stops_early_with_the_best(shoal, at):
    """At a rate that teaches nothing, no epoch is better than the first."""
    result = train(shoal, at / "mlp.onnx", at / "ten", at / "early.onnx", "--epochs", "9", "--rate",
                   "1e-12", "--patience", "2")
    assert result["epochs"] == 3, result


def learns_from_a_teacher(shoal, at):
    result = train(shoal, "zoo:mlp", at / "ten", at / "taught.onnx", "--epochs", "10", "--teacher",
                   at / "mlp.onnx", "--distill", "1")
    assert result["top1"] > 55, result


def penalties_shrink_what_is_not_needed(shoal, at):
    train(shoal, "zoo:mlp", at / "ten", at / "sparse.onnx", "--epochs", "15", "--penalty",
          "lasso:columns:2e-2:fc1.*")
    sparse, dense = (weights_of(at / f"{name}.onnx") for name in ("sparse", "mlp"))
    share = {name: np.median(np.linalg.norm(sparse[name], axis=0)) /
             np.median(np.linalg.norm(dense[name], axis=0)) for name in ("fc1.weight", "fc2.weight")}
    assert share["fc1.weight"] < 0.5 < share["fc2.weight"], share


def reports_in_one_file(shoal, at):
    train(shoal, "zoo:mlp", at / "ten", at / "r.onnx", "--epochs", "2", "--report", at / "r.html")
    page = (at / "r.html").read_text()
    assert page.count("<polyline") == 4 and "Confusions" in page and "<figure>" in page
    assert "://" not in page and "src=" not in page


def holds_out_what_nobody_did(shoal, at):
    folder = at / "whole"
    folder.mkdir()
    for what in ("images", "labels"):
        shutil.copy(at / "ten" / f"train-{what}.npy", folder / f"{what}.npy")
    result = train(shoal, "zoo:mlp", folder, at / "whole.onnx", "--epochs", "8")
    assert result["top1"] > 50, result


def clients_learn_together(shoal, at):
    """The same on any number of threads; the file has the accuracy that the rounds ended with."""
    def federated(threads, *more):
        words = ["train", "zoo:logistic", "--data", at / "ten", "--format", "npy", "--federated", "--clients", "60",
                 "--per-round", "6", "--rounds", "8", "--local-epochs", "4", "--json", "--threads", threads,
                 "--strategy", "fedprox", "--out", at / "together.onnx", *more]
        return json.loads(call(shoal, *words).splitlines()[-1])

    result = federated(1)
    assert result["rounds"] == 8 and result["clients"] == 60 and result["reported"] == 48, result
    assert result["stragglers"] > 30 and result["bytes"] == 2 * 48 * 4 * 7850, result
    assert federated(2)["weights_sha256"] == result["weights_sha256"]
    assert federated(1, "--mu", "0")["weights_sha256"] != result["weights_sha256"]
    even = federated(1, "--split", "iid", "--stragglers", "0", "--rate", "0.1")
    assert even["top1"] > 40, even
    seen = call(shoal, "eval", at / "together.onnx", "--data", at / "ten", "--format", "npy", "--json")
    assert json.loads(seen)["top1"] == even["top1"], (seen, even)
    # The server sees sums only: 7,850 weights of 4 bytes, keys and shares besides.
    secret = federated(1, "--split", "iid", "--stragglers", "0", "--rate", "0.1", "--secure-sum")
    assert abs(secret["top1"] - even["top1"]) < 1 and secret["secure_clamped"] == 0, (secret, even)
    assert 1 < secret["secure_traffic"] < 1.15 and secret["secure_client_ms"] > 0, secret
    refused = run(shoal, "train", "zoo:logistic", "--data", at / "ten", "--format", "npy", "--federated",
                  "--report", at / "page.html")
    assert refused.returncode == 2 and "--report" in refused.stderr, refused


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shoal = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        write_digits(at / "ten", 2000, HELD_OUT)
        write_digits(at / "four", 2000, HELD_OUT, range(4))
        passed((result_runs_elsewhere, does_not_depend_on_loaders, retargets_and_freezes,
                runs_a_frozen_body_once, keeps_to_a_memory_limit, stops_early_with_the_best,
                learns_from_a_teacher, penalties_shrink_what_is_not_needed, reports_in_one_file,
                holds_out_what_nobody_did, clients_learn_together), shoal, at)
    return 0


if __name__ == "__main__":
    sys.exit(main())
