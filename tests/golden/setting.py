"""Where the golden tests find what is not in the repository, and how they call a program."""

import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared"
PEERS = REPOSITORY / "tests" / "peers"

EXIT_SKIPPED = 77  # What ctest takes for "skipped".
SECONDS_PER_CALL = 900


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(EXIT_SKIPPED)


def ort_is_here():
    """Whether tests can compare with ONNX Runtime; where npm was out of reach they cannot."""
    return (PEERS / "node_modules" / "onnxruntime-node").is_dir() and shutil.which("node") is not None


def call(command):
    """What the command prints on stdout; ends the test where it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_PER_CALL)
    except subprocess.TimeoutExpired:
        sys.exit(f"no answer in {SECONDS_PER_CALL} s from: {' '.join(words)}")
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode} from: {' '.join(words)}\n{done.stderr.strip()}")
    return done.stdout
