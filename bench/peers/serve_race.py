#!/usr/bin/python3
"""shoal serve against ONNX Runtime behind Node's http server, on the same ONNX files and by the same clients.

bench/peers/serve_race.py build/release/shoal [--seconds 4] [--rounds 5] [--models lenet5,mobilenetv2,resnet50] [--quick]
                          [--grpc build/release/bench_grpc_load]

Both servers stay open and warm and are asked in turns (A B A B ...), by shoal load over loopback, on the same cores.
With --grpc, both answer gRPC, ONNX Runtime behind grpc-js, and that program asks.
ONNX Runtime has one thread, or as many as there are cores, which is its default: whichever answers more counts. Prints
one JSON line per model and number of clients: requests per second and p99 of both (medians of the rounds), their ratio.
Then what a LeNet-5 request takes beyond the model itself (`overhead`), and what batches give 64 clients (`batching`).
"""
import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile

import machine
import models
from engines import ROOT, ask, need_ort

CLIENTS = (1, 4, 16)
ORT_THREADS = (0, 1)  # 0: one per core


class Server:
    """A server that stays until the end."""

    def __init__(self, call):
        self.child = subprocess.Popen([*map(str, call)], stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline().split()
        if line[:1] != ["ready"]:
            raise RuntimeError(f"{call} did not start")
        self.url = line[-1]  # of HTTP, or of gRPC where it answers that

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        self.child.stdout.close()


def load(flags, server, model, clients, seconds):
    if flags.grpc:
        result = ask([flags.grpc], server.url.removeprefix("grpc://"), model, clients, seconds)[0]
    else:
        result = ask(flags.shoal, "load", server.url, "--model", model, "--clients", clients, "--seconds", seconds, "--json")[0]
    if result["failed"] or result["refused"]:
        raise RuntimeError(f"{result['failed']} failed, {result['refused']} refused")
    return result


def turns(flags, model, clients, *servers):
    """Per server its rounds, which alternate."""
    results = [[] for _ in servers]
    for _ in range(flags.rounds):
        for server, rounds in zip(servers, results):
            rounds.append(load(flags, server, model, clients, flags.seconds))
    return results


def middle(rounds, key):
    return statistics.median(one[key] for one in rounds)


def ratio(ours, theirs, key="answered_per_s"):
    return statistics.median(a[key] / b[key] for a, b in zip(ours, theirs))


def shoal_server(flags, name, file, *more):
    door = ["--grpc", "127.0.0.1:0"] if flags.grpc else []
    return Server([*flags.shoal, "serve", f"{name}={file}", "--listen", "127.0.0.1:0", *door, *more])


def race(flags, name, file):
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        ours = enter(shoal_server(flags, name, file))
        door = ["--grpc", ROOT / "shoal/serve/grpc/inference.proto"] if flags.grpc else []
        node = ["node", ROOT / "tests/peers/serve.mjs", file, *door]
        theirs = [enter(Server([*node, "--threads", n])) for n in ORT_THREADS]
        for server in (ours, *theirs):
            load(flags, server, name, 16, 1)  # warms up
        for clients in CLIENTS:
            shoal, *all_ort = turns(flags, name, clients, ours, *theirs)
            best = max(range(len(theirs)), key=lambda i: middle(all_ort[i], "answered_per_s"))
            ort = all_ort[best]
            yield {"bench": "serve_race", "by": "gRPC" if flags.grpc else "REST", "model": name, "clients": clients,
                   "rounds": flags.rounds,
                   "ort_threads": ORT_THREADS[best],
                   "shoal_per_s": middle(shoal, "answered_per_s"), "ort_per_s": middle(ort, "answered_per_s"),
                   "ratio": ratio(shoal, ort), "bar": "ratio >= 1.3, p99 <= theirs",
                   "shoal_p50_ms": middle(shoal, "p50_ms"), "ort_p50_ms": middle(ort, "p50_ms"),
                   "shoal_p99_ms": middle(shoal, "p99_ms"), "ort_p99_ms": middle(ort, "p99_ms")}


def overhead(flags, file):
    """One client that sends one request after another, in turns with the engine alone."""
    over = []
    with shoal_server(flags, "lenet5", file) as server:
        for _ in range(flags.rounds):
            alone = ask(flags.shoal, "bench", file, "--seconds", flags.seconds, "--json")[0]["median_ms"]
            over.append(1e3 * (load(flags, server, "lenet5", 1, flags.seconds)["p50_ms"] - alone))
    return {"bench": "serve_overhead", "model": "lenet5", "us": statistics.median(over),
            "bar": "<= 100 us" if flags.grpc else "<= 60 us",
            "note": "client, loopback and server together"}


def batching(flags, file, deadline_ms):
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(shoal_server(flags, "lenet5", file, *more)) for more in ([], ["--max-batch", 1])]
        together, alone = turns(flags, "lenet5", 64, *servers)
    return {"bench": "serve_batching", "model": "lenet5", "clients": 64, "per_s": middle(together, "answered_per_s"),
            "without_per_s": middle(alone, "answered_per_s"), "ratio": ratio(together, alone), "bar": "ratio >= 3",
            "p99_ms": middle(together, "p99_ms"), "without_p99_ms": middle(alone, "p99_ms"), "deadline_ms": deadline_ms}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", default="lenet5,mobilenetv2,resnet50")
    parser.add_argument("--deadline", type=float, default=20, help="ms, for 64 clients")
    parser.add_argument("--grpc", metavar="BENCH_GRPC_LOAD", help="race over gRPC, with this program as the clients")
    parser.add_argument("--quick", action="store_true", help="one round of a second each: does it run?")
    flags = parser.parse_args()
    need_ort()
    flags.shoal = [flags.shoal]
    if flags.quick:
        flags.seconds, flags.rounds = 1, 1
    print(machine.describe(), machine.commit(), "ONNX Runtime", machine.ort_version(), file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for name in flags.models.split(","):
            for row in race(flags, name, models.write_zoo(flags.shoal, name, folder)):
                print(json.dumps(row), flush=True)
        file = models.write_zoo(flags.shoal, "lenet5", folder)
        print(json.dumps(overhead(flags, file)), flush=True)
        print(json.dumps(batching(flags, file, flags.deadline)), flush=True)


if __name__ == "__main__":
    main()
