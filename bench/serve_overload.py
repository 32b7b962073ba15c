#!/usr/bin/python3
"""shoal serve at several times its capacity, server and clients on a core each.

bench/serve_overload.py build/release/shoal [MODEL] [--times 10] [--connections 500] [--seconds 300]

--clients clients, who are never refused, measure the capacity; in turns with them, --connections clients offer --times as
much for --seconds in all. With --times 0 each sends its next request when it has an answer, whatever that says. Prints one
JSON line. `goodput` is answers per second by the capacity just before and after, the median of --slices turns; `cpu_share`
the time of the answers by what the server took, which also holds where other programs share the cores.
"""
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess

CALM = 5  # seconds of a measurement of the capacity


def status_of(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name}")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of(loads):
    return sum(one["cpu"] for one in loads) / sum(one["answered"] for one in loads)


def measure(flags):
    def load(clients, seconds, *more):
        call = ["taskset", "-c", "1", flags.shoal, "load", url, "--model", "m", "--clients", clients, "--seconds", seconds,
                "--json", *more]
        begin = cpu_seconds(server.pid)
        out = subprocess.run([*map(str, call)], capture_output=True, text=True, check=False).stdout
        return json.loads(out) | {"cpu": cpu_seconds(server.pid) - begin}

    call = ["taskset", "-c", "0", flags.shoal, "serve", f"m={flags.model}", "--listen", "127.0.0.1:0", *flags.serve.split()]
    server = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[1]
        load(flags.clients, 2)  # warms up
        calm, busy, memory = [load(flags.clients, CALM)], [], [status_of(server.pid, "VmRSS")]
        for _ in range(flags.slices):
            rate = ["--rate", flags.times * calm[-1]["answered_per_s"]] if flags.times > 0 else []
            busy.append(load(flags.connections, flags.seconds / flags.slices, *rate))
            memory.append(status_of(server.pid, "VmRSS"))
            calm.append(load(flags.clients, CALM))
        capacity = [(before["answered_per_s"] + after["answered_per_s"]) / 2 for before, after in itertools.pairwise(calm)]
        goodput = [one["answered_per_s"] / capacity for one, capacity in zip(busy, capacity)]
        return {
            "bench": "serve_overload", "model": flags.model, "times": flags.times, "connections": flags.connections,
            "seconds": flags.seconds, "capacity_per_s": statistics.median(capacity),
            "goodput": statistics.median(goodput), "goodputs": [round(one, 3) for one in goodput],
            "cpu_share": cpu_of(calm) / cpu_of(busy), "refused": sum(one["refused"] for one in busy),
            "failed": sum(one["failed"] for one in busy), "refusal_p99_ms": max(one["refusal_p99_ms"] for one in busy),
            "p99_ms": statistics.median(one["p99_ms"] for one in busy), "memory_mb": memory,
            "peak_mb": status_of(server.pid, "VmHWM"),
        }
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("model", nargs="?", default="zoo:digits")
    parser.add_argument("--times", type=float, default=10)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--clients", type=int, default=32, help="of the capacity")
    parser.add_argument("--seconds", type=float, default=300, help="of overload")
    parser.add_argument("--slices", type=int, default=10, help="of the overload, between measurements of the capacity")
    parser.add_argument("--serve", default="", help="more flags of shoal serve")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
