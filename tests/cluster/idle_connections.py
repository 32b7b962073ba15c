#!/usr/bin/python3
"""Strangers who connect and say nothing: idle_connections.py SHOAL [CONNECTIONS]

Opens so many connections to a worker (10,000, or as many as this machine's limits allow), from several
processes, and keeps them. Meanwhile the worker must answer its coordinator, and hold no more of
strangers than its limits say. Prints how many, and what they cost the worker.
"""

import json
import multiprocessing
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile

PROCESSES = 4
SPARE_DESCRIPTORS = 64  # of a process, for all else
TIMEOUT = 120  # seconds
# A worker lets 256 strangers in at a time. One costs it a descriptor and what TLS keeps for it.
MOST_DESCRIPTORS = 400
MOST_GROWTH_KB = 64 << 10


def connect(address):
    """A connection that nobody uses. Where the queue at the door is full, it takes a few tries."""
    while True:
        try:
            return socket.create_connection(address, timeout=TIMEOUT)
        except (ConnectionResetError, ConnectionAbortedError):
            continue


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def idle(address, count, pipe):
    """A process of strangers: says how many came, and when asked, how many are still there."""
    connections = [connect(address) for _ in range(count)]
    pipe.send(len(connections))
    pipe.recv()
    pipe.send(sum(map(is_open, connections)))


def status_of(process):
    fields = {}
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        name, value = line.split(":", 1)
        fields[name] = value.split()[0] if value.split() else ""
    return {
        "kb": int(fields["VmRSS"]),
        "peak_kb": int(fields["VmHWM"]),
        "threads": int(fields["Threads"]),
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
    }


class Strangers:
    """Several processes of them, as one process has too few descriptors."""

    def __init__(self, address, count):
        self.pipes, self.processes = [], []
        for i in range(PROCESSES):
            here, there = multiprocessing.Pipe()
            share = count // PROCESSES + (i < count % PROCESSES)
            process = multiprocessing.Process(target=idle, args=(address, share, there), daemon=True)
            process.start()
            self.pipes.append(here)
            self.processes.append(process)

    def came(self):
        return sum(pipe.recv() for pipe in self.pipes)

    def stayed(self):
        for pipe in self.pipes:
            pipe.send(None)
        return sum(pipe.recv() for pipe in self.pipes)


def measure(shoal, folder, count):
    def call(*words):
        done = subprocess.run([shoal, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stderr}"
        return done.stdout

    call("cluster", "init", "--dir", folder / "c")
    listen = ["--listen", "127.0.0.1:0"]
    invite = subprocess.Popen([shoal, "cluster", "invite", "--dir", folder / "c", *listen], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    token = invite.stdout.readline().strip()
    worker = subprocess.Popen([shoal, "worker", "--dir", folder / "w", "--name", "w", *listen, "--threads", "1", "--join", token],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = worker.stdout.readline().split()[2]
        call("cluster", "add", "w", address, "--dir", folder / "c")
        call("devices", "--dir", folder / "c")  # so that what the first request needs is there
        before = status_of(worker.pid)
        host, port = address.rsplit(":", 1)
        strangers = Strangers((host, int(port)), count)
        device, = json.loads(call("devices", "--dir", folder / "c", "--json"))  # as they come
        came = strangers.came()
        during = status_of(worker.pid)
        again, = json.loads(call("devices", "--dir", folder / "c", "--json"))  # as they stay
        stayed = strangers.stayed()
    finally:
        for process in worker, invite:
            process.terminate()
            process.wait(TIMEOUT)
    print(json.dumps({"connections": came, "still_open": stayed, "before": before, "during": during}))
    assert device["health"] == again["health"] == "ok"
    assert during["descriptors"] <= MOST_DESCRIPTORS, "strangers hold descriptors"
    assert during["peak_kb"] - before["peak_kb"] <= MOST_GROWTH_KB, "strangers hold memory"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        measure(os.path.abspath(sys.argv[1]), pathlib.Path(folder), min(wanted, PROCESSES * (hard - SPARE_DESCRIPTORS)))
    print("passed")


main()
