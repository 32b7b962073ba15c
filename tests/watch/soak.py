#!/usr/bin/python3
"""A camera that is restarted every minute, watched for half an hour: soak.py SHOAL [--minutes 30] [--restart 60]

By hand: no part of `make test`. Fails if memory grows, if the stream does not go on within 20 seconds of a restart, or if
the process ends. Prints a line for each restart and one JSON object.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PORT = 18554


def camera():
    process = subprocess.Popen(["/usr/bin/python3", str(HERE / "rtsp_server.py"), str(PORT)], stdout=subprocess.PIPE, text=True)
    said = process.stdout.readline().strip()
    if said != "ready":
        print(said)
        sys.exit(77)
    return process


def memory_mb(pid):
    """Of the process and what it started."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024, len(children)


def lines_in(path):
    return sum(1 for _ in path.open()) if path.exists() else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--restart", type=float, default=60, help="seconds")
    arguments = parser.parse_args()
    out = pathlib.Path(tempfile.mkdtemp()) / "frames.jsonl"
    server = camera()
    watch = subprocess.Popen([arguments.shoal, "watch", f"rtsp://127.0.0.1:{PORT}/camera", "--model", "zoo:scene", "--track", "--gate",
                              "auto", "--zone", "all=0,0,1,0,1,1,0,1", "--timeout", "5", "--jsonl", str(out), "--json"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    memories, stuck, restarts = [], 0, 0
    end = time.monotonic() + 60 * arguments.minutes
    try:
        while time.monotonic() < end:
            time.sleep(arguments.restart)
            memories.append(memory_mb(watch.pid)[0])
            server.kill()
            server.wait()
            server = camera()
            restarts += 1
            before, began = lines_in(out), time.monotonic()
            while lines_in(out) < before + 5 and time.monotonic() < began + 20 and watch.poll() is None:
                time.sleep(0.1)
            gone_on = lines_in(out) >= before + 5
            stuck += not gone_on
            print(f"restart {restarts}: {memories[-1]:.1f} MB, {'on' if gone_on else 'STUCK'} after "
                  f"{time.monotonic() - began:.1f} s, {lines_in(out)} frames", flush=True)
            if watch.poll() is not None:
                sys.exit("shoal has ended")
        watch.terminate()
        result = json.loads(watch.communicate(timeout=60)[0].splitlines()[-1])
    finally:
        watch.kill()
        server.kill()
    # The first minutes fill buffers.
    settled = memories[len(memories) // 4:]
    growth = settled[-1] - settled[0]
    print(json.dumps({"minutes": arguments.minutes, "restarts": restarts, "stuck": stuck, "frames": result["frames"],
                      "memory_mb": settled[-1], "growth_mb": growth, "latency_ms_p99": result["latency_ms_p99"]}))
    sys.exit(1 if stuck or growth > 2 else 0)


main()
