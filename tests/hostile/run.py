#!/usr/bin/python3
"""Runs every hostile model through `shoal run` and `shoal inspect` and holds both to one promise:
exit code 3, one clear line on stderr, within a second, in bounded memory, reading nothing outside
the model's folder. The controls must be answered instead. Exit code 1 if any case fails.
"""

import argparse
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from case import MODEL_FILE, REFUSED, SECRET_FILE, Case
from corpus import CASES

MEMORY_MB = 200
# The list of unsupported operators may be long; a name out of a file must not fill the screen.
LINE_BYTES = 64 * 1024
# What is kept of a child's output, which may be without end.
OUTPUT_BYTES = 1 << 20
# Touching more would hurt the machine before the clock stops it; no honest run comes near.
ADDRESS_SPACE = 16 << 30
# Ordinary floats when read as weights: they would survive x + 0 and turn up in a saved answer.
SECRET = b"outside the fold" * 4
TRACE = re.compile(
    r"Traceback|Sanitizer|runtime error:|terminate called|what\(\):|bad_alloc|SHOAL_CHECK"
    r"|\b0x[0-9a-f]{6,}"
)
DROP_ROOT = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


@dataclass(frozen=True)
class Limits:
    """`scale` is for instrumented builds, which are slower and larger. The wall clock, which
    counts other work of the machine, too, only finds what hangs: after SHOAL_WALL_FACTOR (4, up to 6)
    times as long. CPU time is ours alone, and is the limit."""

    scale: float
    wall_factor: float

    def cpu_seconds(self, case: Case) -> float:
        return case.cpu_seconds * self.scale

    def wall_seconds(self, case: Case) -> float:
        return self.cpu_seconds(case) * self.wall_factor

    @property
    def memory_mb(self) -> float:
        return MEMORY_MB * self.scale


@dataclass(frozen=True)
class Outcome:
    code: int  # negative: ended by that signal
    stdout: bytes
    stderr: bytes
    cpu_seconds: float
    memory_mb: float
    timed_out: bool


def execute(argv: list[str], scratch: Path, wall_seconds: float, bound_memory: bool) -> Outcome:
    """Output goes to files: a child that fills a pipe would block, and look as if it hung."""
    with open(scratch / "stdout", "w+b") as out, open(scratch / "stderr", "w+b") as err:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        if bound_memory:
            resource.prlimit(child.pid, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        handle = os.pidfd_open(child.pid)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        timed_out = not poll.poll(wall_seconds * 1000)
        if timed_out:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
        os.close(handle)
        # Reaped above, for its usage; Popen is told, so that it does not wait again.
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Outcome(
            child.returncode,
            out.read(OUTPUT_BYTES),
            err.read(OUTPUT_BYTES),
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024,
            timed_out,
        )


def execute_with_timeout(argv: list[str], scratch: Path, case: Case, limits: Limits) -> Outcome:
    """A hang overruns the wall clock every time, a busy machine does not: the third time counts."""
    for _ in range(3):
        outcome = execute(argv, scratch, limits.wall_seconds(case), limits.scale == 1)
        if not outcome.timed_out or outcome.cpu_seconds > limits.cpu_seconds(case):
            break
    return outcome


def line_fault(stderr: bytes, mentions: tuple[str, ...]) -> str | None:
    if len(stderr) > LINE_BYTES:
        return f"more than {LINE_BYTES} bytes on stderr"
    try:
        text = stderr.decode()
    except UnicodeDecodeError:
        return "stderr is not UTF-8"
    if not text.strip():
        return "nothing on stderr"
    if text.count("\n") != 1 or not text.endswith("\n"):
        return f"stderr is not one line: {text[:200]!r}"
    if any(unicodedata.category(c) == "Cc" for c in text[:-1]):
        return f"control characters on stderr: {text[:200]!r}"
    if TRACE.search(text):
        return f"looks like a crash: {text[:200]!r}"
    missing = [m for m in mentions if m not in text]
    return f"the line does not name {', '.join(missing)}: {text[:200]!r}" if missing else None


def answer_fault(case: Case, saved: Path) -> str | None:
    for name, expected in case.answers.items():
        if not (saved / name).is_file():
            return f"{name} was not saved"
        actual = np.load(saved / name)
        if actual.dtype != expected.dtype or not np.array_equal(actual, expected):
            return f"{name} holds a wrong answer"
    return None


def outcome_fault(
    case: Case, allowed: frozenset[int], outcome: Outcome, limits: Limits
) -> str | None:
    if outcome.cpu_seconds > limits.cpu_seconds(case):
        return f"took {outcome.cpu_seconds:.2f} s of CPU time"
    if outcome.timed_out:
        return f"still running after {limits.wall_seconds(case):.1f} s"
    # A control that is large on purpose, and may take longer, may also hold more.
    if outcome.memory_mb > limits.memory_mb * (2 if case.cpu_seconds > 1 else 1):
        return f"peak memory {outcome.memory_mb:.0f} MB"
    if outcome.code not in allowed:
        wanted = " or ".join(map(str, sorted(allowed)))
        said = outcome.stderr.decode(errors="replace")[:200]
        return f"exit code {outcome.code}, expected {wanted}; stderr {said!r}"
    return line_fault(outcome.stderr, case.mentions) if outcome.code == 3 else None


def files_under(root: Path) -> set[str]:
    return {os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names}


class Secret:
    """A file outside the model's folder. Its access time shows reads, where the disk keeps it."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir()
        path.write_bytes(SECRET)
        os.utime(path, ns=(0, path.stat().st_mtime_ns))

    def was_read(self) -> bool:
        return self.path.stat().st_atime_ns != 0

    @staticmethod
    def reads_are_seen(root: Path) -> bool:
        probe = Secret(root / "probe" / "secret.bin")
        probe.path.read_bytes()
        return probe.was_read()


def leak_fault(outcome: Outcome, saved: Path, secret: Secret, watch_reads: bool) -> str | None:
    files = [path.read_bytes() for path in saved.iterdir() if path.is_file()]
    if any(SECRET[:16] in text for text in (outcome.stdout, outcome.stderr, *files)):
        return "gave away a file outside the model's folder"
    return "read a file outside the model's folder" if watch_reads and secret.was_read() else None


class Runner:
    def __init__(self, binary: str, limits: Limits, scratch: Path, device: str = ""):
        """With a device, only 'run' is judged: nothing else computes."""
        self.binary = binary
        self.device = device
        self.limits = limits
        self.scratch = scratch
        self.watch_reads = Secret.reads_are_seen(scratch)

    def judge(self, case: Case) -> list[str]:
        """The faults of one case; none is a pass."""
        root = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            return self.judge_in(root, case)
        finally:
            shutil.rmtree(root)

    def judge_in(self, root: Path, case: Case) -> list[str]:
        # Two levels for the answers: an output named ../../escape would then land where it is seen.
        folder, saved, inputs = root / "model", root / "saved" / "answers", root / "inputs"
        for path in (folder, saved, inputs):
            path.mkdir(parents=True)
        secret = Secret(root / SECRET_FILE)
        content = case.build(folder)
        model = folder / MODEL_FILE
        if content is not None:
            model.write_bytes(content)
        run = ["run", str(model), "--save", str(saved)]
        for name, array in case.feeds.items():
            np.save(inputs / name, array)
            run += ["--input", f"{name}={inputs / name}.npy"]
        if self.device:
            run += ["--device", self.device]
        before = files_under(root) | {str(root / "stdout"), str(root / "stderr")}

        faults = []
        inspect = (["inspect", str(model)], case.inspect)
        for arguments, allowed in ((run, case.run), *((inspect,) if self.inspects(case) else ())):
            argv = [*self.privileges(case), self.binary, *arguments]
            outcome = execute_with_timeout(argv, root, case, self.limits)
            fault = outcome_fault(case, allowed, outcome, self.limits)
            fault = fault or leak_fault(outcome, saved, secret, self.watch_reads)
            if fault is None and arguments is run and outcome.code == 0:
                fault = answer_fault(case, saved)
            if fault:
                faults.append(f"{arguments[0]}: {fault}")
        strays = files_under(root) - before - files_under(saved)
        return faults + [f"wrote {path}" for path in sorted(strays)]

    def inspects(self, case: Case) -> bool:
        """In instrumented builds, whose starts take a tenth of a second, not what `run` refuses, too: that is the same
        code, which of 462 such cases says the same line in all but one."""
        return not self.device and (self.limits.scale == 1 or case.inspect != REFUSED or case.run != REFUSED)

    def privileges(self, case: Case) -> list[str]:
        return DROP_ROOT if case.unprivileged and os.geteuid() == 0 else []


def has_device(binary: str, device: str) -> bool:
    """Whether the built-in model runs there: exit code 4 says that there is no such device."""
    return subprocess.run([binary, "run", "--device", device], capture_output=True).returncode != 4


def can_drop_root() -> bool:
    """Containers may withhold the privilege to give up privileges."""
    if os.geteuid() != 0:
        return True
    if not shutil.which("setpriv"):
        return False
    return subprocess.run([*DROP_ROOT, "true"], capture_output=True).returncode == 0


def is_among(case: Case, every: int) -> bool:
    """All cases but cuts, of which those that may be answered and every so manieth of the others are taken."""
    cut = re.fullmatch(r"truncated_at_byte_(\d+)", case.name)
    return cut is None or int(cut[1]) % every == 0 or 0 in case.run


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", metavar="SHOAL_BINARY", nargs="?")
    parser.add_argument(
        "--only", metavar="REGEX", default="", help="cases whose theme/name matches"
    )
    parser.add_argument(
        "--scale", type=float, default=1, help="loosen all limits, for sanitizer builds"
    )
    parser.add_argument(
        "--cuts",
        type=int,
        metavar="N",
        default=1,
        help="start the program for every Nth cut only; Export.IsRefusedWhereverItIsCut reads a file cut anywhere",
    )
    parser.add_argument(
        "--device", default="", help="run models there; exit code 77 where there is none"
    )
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    arguments = parser.parse_args()
    if not arguments.binary and not arguments.list:
        parser.error("SHOAL_BINARY is missing")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    chosen = [
        case
        for case in CASES
        if re.search(arguments.only, f"{case.theme}/{case.name}") and is_among(case, arguments.cuts)
    ]
    if not chosen:
        sys.exit(f"no case matches {arguments.only}")
    if arguments.list:
        print("\n".join(f"{case.theme}/{case.name}" for case in chosen))
        return 0
    if arguments.device and not has_device(arguments.binary, arguments.device):
        print(f"there is no {arguments.device} here")
        return 77
    if not can_drop_root():
        for case in (c for c in chosen if c.unprivileged):
            print(f"SKIP {case.theme}/{case.name}: root cannot be dropped here")
        chosen = [case for case in chosen if not case.unprivileged]

    limits = Limits(arguments.scale, min(6.0, float(os.environ.get("SHOAL_WALL_FACTOR", "4"))))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        binary = os.path.abspath(arguments.binary)
        runner = Runner(binary, limits, Path(scratch), arguments.device)
        if not runner.watch_reads:
            print("NOTE no access times here: reads outside the folder show only in the output")
        for case, faults in zip(chosen, pool.map(runner.judge, chosen)):
            failed += bool(faults)
            if faults:
                print(f"FAIL {case.theme}/{case.name}: {'; '.join(faults)}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    # A child starts as a copy of this process, so its peak is never reported below ours.
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 > limits.memory_mb:
        sys.exit("the harness itself outgrew the memory limit: what it measured means nothing")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
