#!/usr/bin/python3
"""Cameras on emulated boards, one of which is killed: what each camera has before and after, and for how long it waits.

bench/cluster/cameras.py build/release/shoal MODEL VIDEO [--cameras 8] [--workers 4] [--device pi4] [--seconds 20]

Each camera is the video, read as fast as its network answers, so that frames per second are what the boards can do. Times are
those of the emulated world: with --dilate N, this machine's by N. Prints one JSON line. `gap_s` is the longest time between two
answers of a camera from the kill to five seconds after it.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time


def children_of(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def worker_of(pid, name):
    """The process of an emulated worker, which `shoal emulate` started."""
    for child in children_of(pid):
        words = pathlib.Path(f"/proc/{child}/cmdline").read_text().split("\0")
        if "worker" in words and any(name in word for word in words):
            return child
    raise RuntimeError(f"there is no worker {name}")


class Answers(threading.Thread):
    """When each camera had an answer."""

    def __init__(self, pipe, cameras):
        super().__init__(daemon=True)
        self.pipe, self.times = pipe, {str(camera): [] for camera in cameras}
        self.looked = self.frames = 0

    def run(self):
        with open(self.pipe) as lines:
            for line in lines:
                answer = json.loads(line)
                self.times[answer["source"]].append(time.monotonic())
                self.frames += 1
                self.looked += answer["looked"]

    def within(self, begin, end):
        return [[at for at in times if begin <= at <= end] for times in self.times.values()]


def wait_for_all(answers, process, seconds):
    deadline = time.monotonic() + seconds
    while min(map(len, answers.times.values())) < 3:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("a camera has no answer")
        time.sleep(0.05)


def rates(answers, begin, end, dilation):
    return [round(dilation * len(times) / (end - begin), 2) for times in answers.within(begin, end)]


def longest_gap(answers, begin, end, dilation):
    gaps = []
    for times in answers.within(begin - 60, end):
        before = [at for at in times if at <= begin][-1:]
        marks = [*before, *(at for at in times if at > begin), end]
        gaps.append(max(b - a for a, b in zip(marks, marks[1:])))
    return max(gaps) / dilation


def measure(flags, folder):
    cameras = [folder / f"camera{i}{pathlib.Path(flags.video).suffix}" for i in range(flags.cameras)]
    for camera in cameras:
        os.symlink(os.path.abspath(flags.video), camera)
    pipe = folder / "answers"
    os.mkfifo(pipe)
    answers = Answers(pipe, cameras)
    answers.start()
    call = [flags.shoal, "emulate", "--workers", flags.workers, "--device", flags.device, "--link", flags.link, "--dilate",
            flags.dilate, "--", "watch", *cameras, "--model", flags.model, "--cluster", "--jsonl", pipe, "--json",
            *flags.watch.split()]
    process = subprocess.Popen([*map(str, call)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    notes = []
    reader = threading.Thread(target=lambda: notes.extend(process.stderr), daemon=True)
    reader.start()
    try:
        wait_for_all(answers, process, 120)
        time.sleep(flags.settle * flags.dilate)
        begin = time.monotonic()
        time.sleep(flags.seconds * flags.dilate)
        killed = time.monotonic()
        os.kill(worker_of(process.pid, flags.kill), signal.SIGKILL)
        time.sleep(flags.seconds * flags.dilate)
        end = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out = process.communicate(timeout=120)[0]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    reader.join(5)
    said = [note.strip() for note in notes if "expected" in note]
    result = json.loads(out.splitlines()[-1]) if out.strip() else {"sources": []}
    before, after = (rates(answers, a, b, flags.dilate) for a, b in ((begin, killed), (killed, end)))
    return {
        "bench": "cameras", "model": pathlib.Path(flags.model).name, "cameras": flags.cameras, "workers": flags.workers,
        "device": flags.device, "link": flags.link, "dilation": flags.dilate, "watch": flags.watch,
        "fps_before": before, "fps_after": after, "least_before": min(before), "least_after": min(after),
        "gap_s": round(longest_gap(answers, killed, killed + 5 * flags.dilate, flags.dilate), 3),
        "looked": round(answers.looked / max(1, answers.frames), 3),
        "places": [one.get("place", {}) for one in result["sources"]], "said": said,
        "other_notes": sorted({note.strip() for note in notes} - set(said))[:8],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("model")
    parser.add_argument("video")
    parser.add_argument("--cameras", type=int, default=8)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--device", default="pi4")
    parser.add_argument("--link", default="gigabit")
    parser.add_argument("--dilate", type=float, default=1)
    parser.add_argument("--seconds", type=float, default=20, help="before the kill, and after it")
    parser.add_argument("--settle", type=float, default=5, help="until measuring begins")
    parser.add_argument("--kill", default="pi4-1", help="the name of the worker")
    parser.add_argument("--watch", default="", help="more flags of shoal watch")
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(parser.parse_args(), pathlib.Path(folder))))


if __name__ == "__main__":
    main()
