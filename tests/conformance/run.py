#!/usr/bin/python3
"""Puts the ONNX project's node tests to `shoal run` and judges every answer.

There are two sets: the cases of python3-onnx 1.12, and the vectors of ONNX 1.22, where they are
(../shared). A case passes, is refused (exit code 3: only for those that the set's refused_*.txt
gives a reason for), is wrong, or crashes (any other exit code, a signal, or too long a wait). Exit
code 0 only if nothing is wrong or crashed, the lists of refusals are exactly true, and of each set
as many cases pass as have passed before.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from judge import judge_case
from node_cases import ensure_cases
from vector_cases import ensure_vectors

HERE = Path(__file__).resolve().parent
DEFAULT_CASES = HERE.parents[1] / "build" / "conformance"
DEFAULT_VECTORS = HERE.parents[2] / "shared" / "data" / "onnx-1.22-node-vectors.tar.xz"
LEAST_PASSED_1_12 = 870
LEAST_PASSED_1_22 = 1250
SECONDS_PER_CASE = 20
EXIT_REFUSED = 3


@dataclass
class CaseSet:
    version: str  # of ONNX
    least_passed: int

    def refusals_file(self):
        return HERE / f"refused_{self.version}.txt"


@dataclass
class Verdict:
    case: str
    outcome: str  # passed | refused | wrong | crashed | undocumented | outdated
    detail: str = ""


def read_refusals(path):
    """Lines of `case-name-or-glob  reason`; # opens a comment."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def reason_for(name, refusals):
    return next((reason for glob, reason in refusals.items() if fnmatchcase(name, glob)), None)


def command_line(shoal, case, folder, saved):
    command = [shoal, "run", str(folder / "model.onnx"), "--save", str(saved)]
    files = [folder / f"in_{i}.npy" for i in range(len(case["inputs"]))]
    # A sequence or a string cannot be passed: such a case is asked without inputs, and its model is
    # to be refused.
    if all(file.exists() for file in files):
        for name, file in zip(case["inputs"], files):
            command += ["--input", f"{name}={file}"]
    return command


def judge_refusal(name, refusals, stderr):
    said = [line for line in stderr.splitlines() if line.strip()]
    if len(said) != 1:
        return Verdict(name, "crashed", f"refused with {len(said)} lines on stderr, not one")
    reason = reason_for(name, refusals)
    if reason is None:
        return Verdict(name, "undocumented", said[0])
    return Verdict(name, "refused", reason)


def run_case(shoal, folder, refusals):
    case = json.loads((folder / "case.json").read_text())
    name = case["name"]
    with tempfile.TemporaryDirectory() as saved:
        command = command_line(shoal, case, folder, saved)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=SECONDS_PER_CASE
            )
        except subprocess.TimeoutExpired:
            return Verdict(name, "crashed", f"no answer in {SECONDS_PER_CASE} s")
        if done.returncode == EXIT_REFUSED:
            return judge_refusal(name, refusals, done.stderr)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
            return Verdict(name, "crashed", f"exit code {done.returncode}: {last}")
        is_tensor = case["kind"] == "tensor"
        problem = judge_case(case, folder, Path(saved)) if is_tensor else "not refused"
    if problem:
        return Verdict(name, "wrong", problem)
    if reason_for(name, refusals):
        return Verdict(name, "outdated", "listed as refused, but passes")
    return Verdict(name, "passed")


def unused_refusals(refusals, names):
    unused = [glob for glob in refusals if not any(fnmatchcase(name, glob) for name in names)]
    return [Verdict(glob, "outdated", "listed as refused, but no such case") for glob in unused]


def print_summary(verdicts):
    width = max((len(v.case) for v in verdicts), default=0)
    for v in verdicts:
        if v.outcome not in ("passed", "refused"):
            print(f"{v.outcome:12}  {v.case:{width}}  {v.detail[:200]}")
    count = Counter(v.outcome for v in verdicts)
    bad = {kind: count[kind] for kind in ("wrong", "crashed", "undocumented", "outdated")}
    listed = ", ".join(f"{n} {kind}" for kind, n in bad.items())
    failed = sum(bad.values())
    print(f"{count['passed']} passed, {failed} failed, {count['refused']} refused  ({listed})")
    return failed == 0, count["passed"]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("shoal", help="the binary under test, or anything with the same command line")
    add("--only", metavar="REGEX", default="", help="only the cases whose name matches")
    add("--jobs", type=int, default=2, help="cases at a time (default 2)")
    add("--json", metavar="FILE", type=Path, help="write every verdict there")
    add("--cases", metavar="DIR", type=Path, default=DEFAULT_CASES, help="where the cases are kept")
    add("--vectors", metavar="FILE", type=Path, default=DEFAULT_VECTORS, help="those of ONNX 1.22")
    return parser.parse_args()


def run_set(case_set, folder, options):
    """The verdicts on one set, and whether it is as it should be."""
    refusals = read_refusals(case_set.refusals_file())
    folders = sorted(path.parent for path in folder.glob("*/case.json"))
    chosen = [folder for folder in folders if re.search(options.only, folder.name)]
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = list(pool.map(lambda one: run_case(options.shoal, one, refusals), chosen))
    if not options.only:
        verdicts += unused_refusals(refusals, [folder.name for folder in folders])
    print(f"ONNX {case_set.version}:")
    clean, passed = print_summary(verdicts)
    enough = passed >= case_set.least_passed or options.only
    if not enough:
        print(f"at least {case_set.least_passed} have to pass")
    return verdicts, bool(clean and enough)


def main():
    options = parse_arguments()
    if not os.access(options.shoal, os.X_OK):
        sys.exit(f"{options.shoal}: no such program")
    options.shoal = os.path.abspath(options.shoal)
    ensure_cases(options.cases)
    verdicts, good = run_set(CaseSet("1.12", LEAST_PASSED_1_12), options.cases, options)
    if options.vectors.exists():
        vectors = options.cases.with_name(options.cases.name + "-1.22")
        ensure_vectors(options.vectors, vectors)
        more, also_good = run_set(CaseSet("1.22", LEAST_PASSED_1_22), vectors, options)
        verdicts, good = verdicts + more, good and also_good
    else:
        print(f"ONNX 1.22: skipped, there is no {options.vectors}")
    if not verdicts:
        sys.exit(f"no case's name matches {options.only}")
    if options.json:
        options.json.write_text(json.dumps([asdict(v) for v in verdicts], indent=1) + "\n")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
