"""What scripts that train on drawn digits share: the data, calls of a program, and the way out where a
Python package is not here."""
import importlib
import pathlib
import subprocess
import sys

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "tools"))


def needs(*packages):
    """The packages; without one of them the script ends as skipped."""
    try:
        return [importlib.import_module(package) for package in packages]
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)


def write_digits(folder, training, test, keep=range(10)):
    """Drawn digits as arrays, those of the classes to keep, in a new folder."""
    np, digits = needs("numpy", "digits")
    folder.mkdir()
    for name, seed, count in [("train", 1, training), ("test", 2, test)]:
        images, labels = digits.draw(seed=seed, count=count)
        chosen = np.isin(labels, list(keep))
        np.save(folder / f"{name}-images.npy", images.reshape(-1, digits.SIDE, digits.SIDE)[chosen])
        np.save(folder / f"{name}-labels.npy", labels[chosen].astype(np.int64))


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def finished(*words):
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done


def passed(checks, *arguments):
    """Calls one check after the other, and names each that holds."""
    for check in checks:
        check(*arguments)
        print(f"ok   {check.__name__.replace('_', ' ')}")
