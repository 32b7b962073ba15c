#!/usr/bin/python3
"""What int8 costs and gains on networks from others: PYTHONPATH=build/release/python int8.py SHOAL

Each network is written by `shoal convert --int8`, calibrated on images of another data set than the
one that judges, and judged beside itself: accuracy in percent, and milliseconds of one thread in
turns. Prints one JSON line for each. Fails if one loses more than it may, or is no faster.

  squeezenet1.1, etinynet   200 ImageNet images; calibrated on coco-val128
  yolox-nano, fastestdet    AP50 on coco-val128; calibrated on the ImageNet images
  mobilefacenet             LFW fold 1; calibrated on ORL
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tasks import TASKS

import shoal

REPOSITORY = Path(__file__).resolve().parents[2]
ROUNDS = 10


def runner(model, threads):
    session = shoal.Session(str(model), threads=threads)
    name = session.inputs[0].name
    return lambda x: session.run({name: x})


def outputs(model, inputs):
    run = runner(model, 0)
    return [list(run(x).values()) for x in inputs]


def times(models, x, seconds):
    """The fastest tenth of the runs of each model, in ms; they take turns."""
    sessions = [shoal.Session(str(model), threads=1) for model in models]
    taken = [[] for _ in sessions]
    for _ in range(ROUNDS):
        for session, own in zip(sessions, taken):
            feed = {session.inputs[0].name: x}
            once = session._time_runs(feed, 1)[0]  # the caches are another's
            own += session._time_runs(feed, max(3, int(seconds / ROUNDS / max(once, 1e-6))))
    return [1e3 * float(np.quantile(own, 0.1)) for own in taken]


def cached(folder, name, make):
    """Arrays that take long to make, once."""
    if folder is None:
        return make()
    path = Path(folder) / f"{name}.npy"
    if not path.exists():
        np.save(path, np.concatenate(make()))
    return [x[None] for x in np.load(path)]


def measure(name, options, scratch):
    task = TASKS[name](options.shared)
    if hasattr(task, "find"):
        task.find = runner(task.finder, 0)
    inputs = cached(options.cache, f"{name}-inputs", task.inputs)
    examples = cached(options.cache, f"{name}-examples", lambda: task.examples(options.examples))
    folder = Path(scratch) / name
    folder.mkdir()
    for i, x in enumerate(examples):
        np.save(folder / f"{i:04}.npy", x)
    written = Path(options.out or scratch) / f"{name}-int8.onnx"
    words = [options.program, "convert", str(task.model), "--int8", "--calibrate", str(folder),
             "--json", "-o", str(written), *options.more]
    facts = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    before, after = (task.score(outputs(model, inputs)) for model in (task.model, written))
    ms = times([task.model, written], inputs[0], options.seconds) if options.seconds else [0, 0]
    good = before - after <= task.most_loss + 1e-9 and ms[1] <= ms[0]
    return {"network": name, "before": before, "int8": after, "loss": before - after,
            "may_lose": task.most_loss, "ms": ms[0], "ms_int8": ms[1],
            "times_faster": ms[0] / ms[1] if ms[1] else None, "bytes": task.model.stat().st_size,
            "bytes_int8": facts["bytes"], "products": facts["products"],
            "compressed": facts["compressed"], "left": facts.get("left"),
            "notes": facts.get("notes"), "good": good}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", help="the shoal binary")
    parser.add_argument("networks", nargs="*", default=list(TASKS), help="default: all")
    parser.add_argument("--shared", type=Path, default=REPOSITORY.parent / "shared")
    parser.add_argument("--examples", type=int, default=100, help="to calibrate with")
    parser.add_argument("--seconds", type=float, default=5, help="to time each network for; 0: not")
    parser.add_argument("--cache", help="a folder for prepared images")
    parser.add_argument("--out", help="a folder for the int8 networks")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="flags for convert")
    options = parser.parse_args()
    verdicts = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.networks or TASKS:
            row = measure(name, options, scratch)
            print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}),
                  flush=True)
            verdicts.append(row["good"])
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
