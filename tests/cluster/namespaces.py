#!/usr/bin/python3
"""A cluster over a real network of the kernel's: namespaces.py SHOAL.

Three network namespaces on a bridge, links of 50 Mbit/s (tc tbf). Needs root; 77: it cannot be done here.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SHOAL = os.path.abspath(sys.argv[1])
PREFIX = f"shoal{os.getpid() % 10000}"
HUB = f"{PREFIX}c"
WORKERS = [f"{PREFIX}w{i}" for i in range(2)]
MEGABITS = 50


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def shape(namespace, device):
    subprocess.run(["ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
                    f"{MEGABITS}mbit", "burst", "32kbit", "latency", "200ms"], check=True, capture_output=True)


def build_network():
    ip("netns", "add", HUB)
    ip("-n", HUB, "link", "add", "bridge0", "type", "bridge")
    ip("-n", HUB, "addr", "add", "10.77.0.1/24", "dev", "bridge0")
    for device in ("bridge0", "lo"):
        ip("-n", HUB, "link", "set", device, "up")
    for i, worker in enumerate(WORKERS):
        ip("netns", "add", worker)
        ip("-n", HUB, "link", "add", f"port{i}", "type", "veth", "peer", "name", "eth0", "netns", worker)
        ip("-n", HUB, "link", "set", f"port{i}", "master", "bridge0", "up")
        ip("-n", worker, "addr", "add", f"10.77.0.{2 + i}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", worker, "link", "set", device, "up")
        shape(HUB, f"port{i}")
        shape(worker, "eth0")


def remove_network():
    for namespace in [HUB, *WORKERS]:
        subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)


def start(namespace, *words):
    return subprocess.Popen(["ip", "netns", "exec", namespace, SHOAL, *map(str, words)], stdout=subprocess.PIPE,
                            text=True)


def shoal(*words, cluster):
    done = subprocess.run(["ip", "netns", "exec", HUB, SHOAL, *map(str, words)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "SHOAL_CLUSTER_DIR": str(cluster)})
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stderr}"
    return done


def join(folder, i):
    """A worker that is invited, comes, and serves."""
    invite = start(HUB, "cluster", "invite", "--dir", folder / "cluster", "--listen", "10.77.0.1:0")
    token = invite.stdout.readline().strip()
    worker = start(WORKERS[i], "worker", "--dir", folder / f"worker{i}", "--name", f"worker{i}", "--threads", 1,
                   "--listen", f"10.77.0.{2 + i}:7070", "--join", token)
    assert worker.stdout.readline().startswith(f"ready worker{i} 10.77.0.{2 + i}:7070")
    assert invite.wait(timeout=60) == 0
    return worker


def check(folder, workers):
    cluster = folder / "cluster"
    shoal("cluster", "init", "--dir", cluster, cluster=cluster)
    workers += [join(folder, i) for i in range(len(WORKERS))]
    for device in json.loads(shoal("devices", "--json", cluster=cluster).stdout):
        megabits = device["mbit_per_s"]
        assert 0.3 * MEGABITS < megabits < 1.1 * MEGABITS, device

    np.save(folder / "x.npy", np.random.default_rng(1).random((1, 1, 28, 28), np.float32))
    here, there = folder / "here", folder / "there"
    shoal("run", "zoo:lenet5", "--input", folder / "x.npy", "--save", here, cluster=cluster)
    shoal("run", "zoo:lenet5", "--input", folder / "x.npy", "--save", there, "--cluster", "--split", "rows", cluster=cluster)
    for path in here.glob("*.npy"):
        np.testing.assert_allclose(np.load(there / path.name), np.load(path), rtol=0, atol=1e-4)
    result = json.loads(shoal("bench", "zoo:lenet5", "--cluster", "--split", "rows", "--seconds", 0, "--json",
                              cluster=cluster).stdout)
    assert len(result["workers"]) == 2 and all(w["compute_ms"] > 0 for w in result["workers"])

    # A tensor of 9 MB takes one and a half seconds here, and all 47 MB several.
    busy = json.loads(shoal("bench", "zoo:lenet5", "--cluster", "--while-deploying", "zoo:resnet18", "--seconds", 0.5,
                            "--json", cluster=cluster).stdout)
    assert busy["sent_again"] <= 0.01 and busy["deploying"]["requests"] >= 10, busy

    workers[1].kill()
    workers[1].wait()
    left = shoal("run", "zoo:lenet5", "--input", folder / "x.npy", "--cluster", cluster=cluster)
    assert "left out: worker worker1" in left.stderr, left.stderr


def main():
    try:
        build_network()
    except (OSError, subprocess.CalledProcessError) as error:
        remove_network()
        print("skipped: network namespaces cannot be made here:", error)
        sys.exit(77)
    workers = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder), workers)
    finally:
        for worker in workers:
            worker.kill()
        remove_network()
    print("passed")


main()
