#!/usr/bin/python3
"""shoal serve at several times its capacity, server and clients on a core each.

bench/serve_overload.py build/release/shoal [MODEL] [--times 10] [--connections 500] [--seconds 20]

First --clients clients, who are never refused, measure the capacity. Then --connections clients offer --times as much;
with --times 0 each sends its next request when it has an answer, whatever that says. Prints one JSON line. `goodput` is
answers per second by the capacity; `cpu_share` the time of the answers by what the server took, which also holds where
other programs share the cores.
"""
import argparse
import json
import os
import pathlib
import subprocess


def status_of(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name}")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(flags):
    def load(clients, seconds, *more):
        call = ["taskset", "-c", "1", flags.shoal, "load", url, "--model", "m", "--clients", clients, "--seconds", seconds,
                "--json", *more]
        begin = cpu_seconds(server.pid)
        out = subprocess.run([*map(str, call)], capture_output=True, text=True, check=False).stdout
        return json.loads(out), cpu_seconds(server.pid) - begin

    call = ["taskset", "-c", "0", flags.shoal, "serve", f"m={flags.model}", "--listen", "127.0.0.1:0", *flags.serve.split()]
    server = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[1]
        load(flags.clients, 2)  # warms up
        calm, calm_cpu = load(flags.clients, flags.seconds / 2)
        memory = [status_of(server.pid, "VmRSS")]
        rate = ["--rate", flags.times * calm["answered_per_s"]] if flags.times > 0 else []
        busy, busy_cpu = load(flags.connections, flags.seconds / 2, *rate)
        memory.append(status_of(server.pid, "VmRSS"))
        again, again_cpu = load(flags.connections, flags.seconds / 2, *rate)
        memory.append(status_of(server.pid, "VmRSS"))
        cpu_share = calm_cpu / calm["answered"] * (busy["answered"] + again["answered"]) / (busy_cpu + again_cpu)
        return {
            "bench": "serve_overload", "model": flags.model, "times": flags.times, "connections": flags.connections,
            "capacity_per_s": calm["answered_per_s"], "answered_per_s": [busy["answered_per_s"], again["answered_per_s"]],
            "goodput": [one["answered_per_s"] / calm["answered_per_s"] for one in (busy, again)], "cpu_share": cpu_share,
            "refused": busy["refused"] + again["refused"], "failed": busy["failed"] + again["failed"],
            "refusal_p99_ms": [busy["refusal_p99_ms"], again["refusal_p99_ms"]],
            "p99_ms": [busy["p99_ms"], again["p99_ms"]], "memory_mb": memory, "peak_mb": status_of(server.pid, "VmHWM"),
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
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--serve", default="", help="more flags of shoal serve")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
