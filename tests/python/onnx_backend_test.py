"""Runs the ONNX project's own backend test runner against shoal.onnx_backend.

A case passes, is skipped because the backend says that it cannot load such a model, or fails. The
skipped ones must be those that tests/conformance/refused_1.12.txt gives a reason for. Where the expected
values are one draw of many (Bernoulli, Dropout), the runner's comparison cannot pass, so the draws
are judged as tests/conformance/judge.py does.

Usage: onnx_backend_test.py [--cases DIR] [--json FILE]
"""

import argparse
import json
import sys
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
sys.path.insert(0, str(CONFORMANCE))

import node_cases  # noqa: E402  (first: it gives NumPy the names that onnx 1.12 needs)
from judge import judge_random  # noqa: E402
from onnx.backend.test import BackendTest, cmd_tools, runner  # noqa: E402
from onnx.backend.test.case import model as onnx_model_tests  # noqa: E402
from run import read_refusals, reason_for  # noqa: E402

from shoal import onnx_backend  # noqa: E402

LEAST_PASSED = 857


def collect_node_cases():
    """Two names stand for two cases each: the second is called NAME.2."""
    uses, cases = Counter(), []
    for case in node_cases.collect_cases():
        uses[case.name] += 1
        count = uses[case.name]
        cases.append(replace(case, name=case.name if count == 1 else f"{case.name}.{count}"))
    return cases


def write_cases(folder, nodes, simple):
    """By the ONNX project's own generator, which Debian ships without the data it makes."""
    with mock.patch.object(cmd_tools.node_test, "collect_testcases", lambda _: nodes):
        with mock.patch.object(cmd_tools.model_test, "collect_testcases", lambda: list(simple)):
            cmd_tools.generate_data(argparse.Namespace(output=str(folder), op_type=None))


def make_tests(folder, cases):
    def load_model_tests(kind):
        return [
            replace(case, model=None, data_sets=None, model_dir=str(folder / kind / case.name))
            for case in cases
            if case.kind == kind
        ]

    with mock.patch.object(runner, "load_model_tests", load_model_tests):
        classes = BackendTest(onnx_backend.ShoalBackend).test_cases.values()
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    return [test for one in classes for test in load(one)]


def judge_draw(case):
    """None if the draws of a random case are as likely as they should be."""
    inputs, outputs = case.data_sets[0]
    answers = onnx_backend.run_model(case.model, inputs)
    for answer, expected in zip(answers, outputs, strict=True):
        if (answer.dtype, answer.shape) != (expected.dtype, expected.shape):
            return f"{answer.dtype}{answer.shape} instead of {expected.dtype}{expected.shape}"
    return judge_random(node_cases.random_rule(case.model, inputs), inputs, answers)


def run_test(test):
    """(outcome, detail) of one test of the runner's."""
    result = unittest.TestResult()
    test.run(result)
    if result.skipped:
        return "skipped", result.skipped[0][1]
    problems = result.failures + result.errors
    return ("failed", problems[0][1].strip().splitlines()[-1]) if problems else ("passed", "")


def run_tests(tests, drawn):
    """Outcomes for the CPU; the runner has each test for CUDA, too."""
    outcomes = {}
    for test in tests:
        name, _, device = test._testMethodName.rpartition("_")
        if device != "cpu" or name in drawn:
            continue
        outcomes[name] = run_test(test)
    return outcomes


def undocumented(outcomes, refusals, nodes):
    """Skips without a reason in refused_1.12.txt, and refusals that are none."""
    for case in nodes:
        refused = reason_for(case.name, refusals) is not None
        outcome = outcomes[case.name][0]
        if refused != (outcome == "skipped"):
            yield f"{case.name}: {outcome}, but refused_1.12.txt says {'refused' if refused else 'passes'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=Path("build/onnx_backend"))
    parser.add_argument("--json", type=Path, help="write every outcome there")
    options = parser.parse_args()

    nodes = collect_node_cases()
    simple = [case for case in onnx_model_tests.collect_testcases() if case.kind == "simple"]
    write_cases(options.cases, nodes, simple)
    drawn = {c.name: c for c in nodes if node_cases.random_rule(c.model, c.data_sets[0][0])}
    outcomes = run_tests(make_tests(options.cases, nodes + simple), drawn)
    for name, case in drawn.items():
        problem = judge_draw(case)
        outcomes[name] = ("failed", problem) if problem else ("passed", "judged by its draws")
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1, sort_keys=True) + "\n")

    wrong = list(undocumented(outcomes, read_refusals(CONFORMANCE / "refused_1.12.txt"), nodes))
    wrong += [f"{n}: {detail}" for n, (outcome, detail) in outcomes.items() if outcome == "failed"]
    print("\n".join(wrong))
    for kind, cases in (("node", nodes), ("simple", simple)):
        count = Counter(outcomes[case.name][0] for case in cases)
        print(
            f"{kind}: {count['passed']} of {len(cases)} passed, {count['failed']} failed, "
            f"{count['skipped']} skipped as unsupported"
        )
    passed = sum(outcomes[case.name][0] == "passed" for case in nodes)
    sys.exit(0 if not wrong and passed >= LEAST_PASSED else 1)


if __name__ == "__main__":
    main()
