#!/usr/bin/env python3
"""Where the time of a build went: build_time.py BUILD_DIR [TARGET] [--cores N]

Reads the log and the graph that ninja kept of BUILD_DIR, which must have been built from scratch, with
no more jobs than cores: a step's time is wall time. Prints the sum over all steps that TARGET needs, the
longest chain of them, and how long N cores would take together.
"""
import argparse
import collections
import heapq
import pathlib
import re
import subprocess


def durations_of(build):
    """Seconds by output; the last line about an output counts."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(begin)) / 1000
    return seconds


def inputs_of(build, target):
    """What each output is made from. A step that makes several of them is a node of its own."""
    dot = subprocess.run(["ninja", "-C", str(build), "-t", "graph", target], check=True, capture_output=True, text=True)
    names, inputs = {}, collections.defaultdict(set)
    for node, label in re.findall(r'^"(0x\w+)" \[label="([^"]*)"', dot.stdout, re.MULTILINE):
        names[node] = label
    for before, after in re.findall(r'^"(0x\w+)" -> "(0x\w+)"', dot.stdout, re.MULTILINE):
        inputs[after].add(before)
    return names, inputs


def in_order(inputs, nodes):
    """Every node after all it is made from."""
    done, order = set(), []
    for root in nodes:
        stack = [(root, iter(inputs.get(root, ())))]
        while stack:
            node, rest = stack[-1]
            if node in done:
                stack.pop()
                continue
            following = next((n for n in rest if n not in done), None)
            if following is None:
                done.add(node)
                order.append(node)
                stack.pop()
            else:
                stack.append((following, iter(inputs.get(following, ()))))
    return order


def longest_chain(order, inputs, seconds):
    end, last = {}, {}
    for node in order:
        last[node] = max(inputs.get(node, ()), key=end.get, default=None)
        end[node] = end.get(last[node], 0) + seconds[node]
    node, chain = max(end, key=end.get), []
    while node is not None:
        chain.append(node)
        node = last[node]
    return chain[::-1]


def simulate(order, inputs, seconds, cores):
    """Greedy, the longest way to the end first."""
    readers, waits = collections.defaultdict(list), {}
    for node in order:
        waits[node] = len(inputs.get(node, ()))
        for before in inputs.get(node, ()):
            readers[before].append(node)
    left = {}
    for node in reversed(order):
        left[node] = seconds[node] + max((left[r] for r in readers[node]), default=0)
    ready = [(-left[node], node) for node in order if waits[node] == 0]
    heapq.heapify(ready)
    running, now = [], 0.0
    while ready or running:
        while ready and len(running) < cores:
            node = heapq.heappop(ready)[1]
            heapq.heappush(running, (now + seconds[node], node))
        now, node = heapq.heappop(running)
        for reader in readers[node]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heapq.heappush(ready, (-left[reader], reader))
    return now


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("target", nargs="?", default="shoal")
    parser.add_argument("--cores", type=int, default=8)
    arguments = parser.parse_args()
    names, inputs = inputs_of(arguments.build, arguments.target)
    known = durations_of(arguments.build)
    seconds = {node: known.get(name, 0.0) for node, name in names.items()}
    order = in_order(inputs, names)
    print(f"{sum(seconds.values()):8.1f} s in all")
    chain = [node for node in longest_chain(order, inputs, seconds) if seconds[node] > 0]
    print(f"{sum(seconds[node] for node in chain):8.1f} s for the longest chain:")
    for node in chain:
        print(f"{seconds[node]:12.1f} s {names[node]}")
    print(f"{simulate(order, inputs, seconds, arguments.cores):8.1f} s on {arguments.cores} cores")


if __name__ == "__main__":
    main()
