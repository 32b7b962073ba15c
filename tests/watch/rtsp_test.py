#!/usr/bin/python3
"""shoal watch on RTSP, from a real server that is restarted meanwhile: rtsp_test.py SHOAL [PART OF A TEST'S NAME]"""
import json
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import Running, run_tests, wait_for  # noqa: E402

SERVER = pathlib.Path(__file__).resolve().parent / "rtsp_server.py"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Camera:
    """Ended without a word to those who watch, as if its plug were pulled."""

    def __init__(self, port):
        self.process = subprocess.Popen(["/usr/bin/python3", str(SERVER), str(port)], stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().strip()
        if said != "ready":
            print(said or "skipped: no RTSP server")
            sys.exit(77)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def count(path, text):
    return path.read_text().count(text) if path.exists() else 0


def test_a_stream_goes_on_when_its_camera_comes_back(tmp):
    port, out = free_port(), tmp / "frames.jsonl"
    url = f"rtsp://127.0.0.1:{port}/camera"
    first = Camera(port)
    with first, Running("watch", url, "zoo:scene", "--model", "zoo:scene", "--timeout", 2, "--jsonl", out, "--json") as watch:
        for _ in range(2):
            before = count(out, url)
            wait_for(lambda: count(out, url) >= before + 10)
            first.process.kill()
            first.process.wait()
            first = Camera(port)
        before = count(out, url)
        wait_for(lambda: count(out, url) >= before + 10)
        watch.process.terminate()
        result = json.loads(watch.process.communicate(timeout=60)[0].splitlines()[-1])
        first.process.kill()
        first.process.wait()
    assert watch.process.returncode == 0
    frames = [line for line in map(json.loads, out.read_text().splitlines()) if line["source"] == url]
    numbers = [line["frame"] for line in frames]
    assert numbers == sorted(set(numbers)), "frames in order, each once"
    times = [line["time_ms"] for line in frames]
    assert times == sorted(times), "time goes on"
    # The other source was watched meanwhile.
    assert [one["frames"] > 10 for one in result["sources"]] == [True, True], result


def test_a_camera_that_is_not_there_is_an_error(tmp):
    with Running("watch", f"rtsp://127.0.0.1:{free_port()}/camera", "--model", "zoo:scene", "--json") as watch:
        _, stderr = watch.process.communicate(timeout=60)
    assert watch.process.returncode == 2 and "refused" in stderr, stderr


Camera(free_port()).__exit__()  # or skip
run_tests(globals())
