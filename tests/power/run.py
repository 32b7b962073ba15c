#!/usr/bin/python3
"""Cuts the power at every step of everything that writes files which last, and starts again on what the disk kept.

usage: run.py SHOAL UNSYNCED.so EPOCHS [--points N] [--only NAME] [--verbose]

unsynced.cc says what a step is, disk.py what a disk keeps. After each cut the machine is rebuilt in four ways; disks
that are alike are one. Each must start again; what was acknowledged before the cut must be there, and what was not must
be there as a whole or not at all. --points takes so many steps of all scenarios together, the last of each among them; without, all of them.
"""
import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import typing
import zlib

import numpy as np

from disk import WAYS, Disk, fingerprint

CUT = 99  # exit code of unsynced.cc
TIMEOUT = 120  # seconds; what takes longer hangs
TRIES = 5
ROOT = pathlib.Path(__file__).resolve().parents[2]


class World:
    """Machines, a folder each, one of which may lose its power."""

    def __init__(self, flags, at, ports):
        self.flags, self.at, self.ports = flags, at, ports
        self.power = {}  # machine -> (Disk, step to cut at, log of steps)
        self.notes = {}  # what a scenario wants to remember beyond the cut
        self.processes = []
        at.mkdir(exist_ok=True)

    def home(self, machine):
        path = self.at / machine
        path.mkdir(exist_ok=True)
        return path

    def start(self, machine, *words, program=None, **more):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SHOAL_"))}
        env["HOME"] = str(self.home(machine))
        if machine in self.power:
            disk, cut, steps = self.power[machine]
            env.update(disk.env(self.flags.shim, cut, steps))
        process = subprocess.Popen([program or self.flags.shoal, *map(str, words)], env=env, cwd=self.home(machine),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.processes.append(process)
        return process

    def run(self, machine, *words, **more):
        """The exit code, what was printed, and the complaint."""
        process = self.start(machine, *words, **more)
        out, error = process.communicate(timeout=TIMEOUT)
        return process.returncode, out, error

    def call(self, machine, *words, **more):
        code, out, error = self.run(machine, *words, **more)
        assert code == 0, f"{' '.join(map(str, words))}: exit code {code}: {error.strip()}"
        return out

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.processes = []

    def copy_to(self, at):
        shutil.copytree(self.at, at, symlinks=True)
        return World(self.flags, at, self.ports)


@dataclasses.dataclass
class Scenario:
    """What is done, and how one sees whether it was."""
    name: str
    act: typing.Callable  # (world) -> whether it was acknowledged
    see: typing.Callable  # (world) -> what a machine that was started again finds
    before: tuple = ()    # actions that lead there
    machine: str = "owner"  # whose power is cut
    again: bool = True    # the action may be repeated, which must end as if there had been no cut
    whole: bool = True    # False: to see is to repeat, so that only the end of all is to be seen
    slow: bool = False    # waits for seconds, and is given fewer cuts


def command(*words, machine="owner", **more):
    """An action: acknowledged if its exit code says so."""
    def act(world):
        code, _, error = world.run(machine, *words, **more)
        assert code in (0, CUT), f"{' '.join(map(str, words))}: exit code {code}: {error.strip()}"
        return code == 0
    return act


def output(*words, **more):
    return lambda world: world.call("owner", *words, **more)


def digest(pattern):
    """The files that match, with the hashes of what they hold."""
    return lambda world: {str(path.relative_to(world.at)): hashlib.sha256(path.read_bytes()).hexdigest()
                          for path in sorted(world.home("owner").glob(pattern))}


def both(*sights):
    return lambda world: [see(world) for see in sights]


# The owner's cluster.

LIST = output("cluster", "list")
INIT = command("cluster", "init")


def add(name, port=7001):
    return command("cluster", "add", name, f"127.0.0.1:{port}")


def see_cluster(world):
    """Makes the cluster, if it is not there. If it is said to be, it must be of use."""
    code, _, error = world.run("owner", "cluster", "init")
    assert code == 0 or "already" in error, error
    world.call("owner", "devices", "--json")  # loads the coordinator's identity
    invite = world.start("owner", "cluster", "invite", "--listen", "127.0.0.1:0")  # loads the authority
    assert invite.stdout.readline().startswith("shoal1/"), invite.stderr.read()
    invite.kill()
    return "made anew" if code == 0 else "there"


# Joining: a token that was printed is good, once; a device that said that it is ready can be started again.

def listen(world, machine):
    return f"127.0.0.1:{world.ports[machine]}"


def invite(world):
    """The process, and the token it printed, if it lived to."""
    process = world.start("owner", "cluster", "invite", "--listen", listen(world, "owner"))
    return process, process.stdout.readline().strip()


def worker(world, *words, machine="device"):
    """The process, and what it said when it was ready, if it lived to."""
    process = world.start(machine, "worker", "--listen", listen(world, machine), "--name", machine, "--threads", 1,
                          "--no-announce", *words)
    return process, process.stdout.readline().strip()


def print_token(world):
    process, world.notes["token"] = invite(world)
    process.kill()
    return bool(world.notes["token"])


def see_token(world):
    """A token that was printed lets a device join. Without one, a new one does."""
    server, fresh = invite(world)
    assert fresh, server.stderr.read()
    joined, ready = worker(world, "--join", world.notes["token"] or fresh)
    assert ready, joined.stderr.read()
    server.wait(TIMEOUT)
    return ready


def join(world):
    server, token = invite(world)
    if not token:
        world.notes = {"token": ""}
        return False
    _, ready = worker(world, "--join", token)
    if "owner" in world.power:
        server.wait(TIMEOUT)
        ready = ready if server.returncode == 0 else ""
    world.notes = {"token": token, "listed": server.wait(TIMEOUT) == 0 if ready else False}
    return bool(ready)


def see_joined(world):
    """A join that was cut off can be repeated with the same token."""
    listed = world.notes.get("listed") and "device" in LIST(world)
    server, fresh = invite(world)
    assert fresh, server.stderr.read()
    joined, ready = worker(world, "--join", world.notes["token"] or fresh)
    assert ready, joined.stderr.read()
    assert listed or not world.notes.get("listed"), "was listed"
    return ready


def thief_is_refused(world):
    """The token that one device used is of no use to another."""
    see_joined(world)
    world.stop()
    server, _ = invite(world)
    code, _, error = world.run("thief", "worker", "--join", world.notes["token"], "--name", "thief", "--listen",
                               "127.0.0.1:0", "--no-announce")
    server.kill()
    assert code != 0, "a token served twice"
    return "refused"


# A cluster that answers.

def answer(world):
    """On a machine that is busy otherwise, a worker may be taken for lost; the error says that it is worth another try."""
    for _ in range(TRIES):
        code, out, error = world.run("owner", "run", "--cluster", "--json")
        if code == 0:
            return [row["digit"] for row in json.loads(out)]
    raise AssertionError(error)


def answer_by_device(*words):
    """The digits in the binary, answered by the device, whichever of the two loses its power. Nothing is acknowledged
    but the answer."""
    def act(world):
        process, ready = worker(world, *words)
        if not ready:
            assert process.wait(TIMEOUT) == CUT, process.stderr.read()
            return False
        for _ in range(TRIES):
            code, _, _ = world.run("owner", "run", "--cluster", "--json")
            if code in (0, CUT) or process.poll() is not None:
                break
        return code == 0
    return act


def see_answers(*words):
    def see(world):
        process, ready = worker(world, *words)
        assert ready, process.stderr.read()
        return answer(world)
    return see


def settled(world):
    """An owner and a device that has joined."""
    assert INIT(world) and join(world), "cannot join"
    world.stop()


# The life of a certificate.

def revoked(world):
    members = json.loads(world.call("owner", "cluster", "status", "--json"))["members"]
    return sorted({member["name"] for member in members if member["revoked"]})


def see_revoked(world):
    """A removal that was cut off can be repeated; one that was acknowledged holds."""
    if world.notes.get("acknowledged"):
        assert "device" in revoked(world), "was removed"
    else:
        world.run("owner", "cluster", "remove", "device")
    return revoked(world), LIST(world)


def removed_another(world):
    """A thief has joined and was removed, of which the device has not heard."""
    settled(world)
    server, token = invite(world)
    _, ready = worker(world, "--join", token, machine="thief")
    assert ready and server.wait(TIMEOUT) == 0
    world.stop()
    world.call("owner", "cluster", "remove", "thief")


def file_of_device(world, name):
    path = world.home("device") / ".config" / "shoal" / "worker" / name
    return path.read_bytes() if path.exists() else b""


def repeated(world, *words):
    """As often as a busy machine needs."""
    for _ in range(TRIES):
        code, _, error = world.run("owner", *words)
        if code in (0, CUT):
            return code == 0
    raise AssertionError(error)


def with_device(*words, file):
    """Lets the device serve while the owner does something, until the device has written a file."""
    def act(world):
        before = file_of_device(world, file)
        process, ready = worker(world)
        if ready and "owner" in world.power:
            return repeated(world, *words)
        while ready and process.poll() is None and file_of_device(world, file) == before:
            world.run("owner", *words)
        assert process.poll() in (None, CUT), process.stderr.read()
        return process.poll() is None
    return act


def see_device(*words, file):
    """The device serves with what it had, and does the same again."""
    def see(world):
        assert file_of_device(world, file) or not world.notes.get("acknowledged"), f"{file} was there"
        process, ready = worker(world)
        assert ready, process.stderr.read()
        assert repeated(world, *words) and answer(world)
        return ready
    return see


# Training.

def write_digits(world):
    sys.path.insert(0, str(ROOT / "tools"))
    import digits
    data = world.home("owner") / "data"
    data.mkdir()
    for name, seed, count in [("train", 1, 60), ("test", 2, 20)]:
        images, labels = digits.draw(seed=seed, count=count)
        np.save(data / f"{name}-images.npy", images.reshape(-1, digits.SIDE, digits.SIDE))
        np.save(data / f"{name}-labels.npy", labels.astype(np.int64))


def epochs_of(text):
    return [int(line.split()[1].rstrip(":")) for line in text.splitlines() if line.startswith("epoch ") and ":" in line]


def train(epochs):
    words = ["train", "zoo:mlp", "--data", "data", "--format", "npy", "--epochs", epochs, "--batch", 10, "--threads", 1,
             "--checkpoint-every", 1, "--out", "out.onnx", "--report", "page.html", "--resume", "--json"]

    def act(world):
        code, _, error = world.run("owner", *words)
        assert code in (0, CUT), error
        world.notes["epochs"] = max(epochs_of(error), default=0)
        return code == 0

    def see(world):
        """Goes on after the last epoch that was told of, and ends with the same weights."""
        code, _, error = world.run("owner", *words)
        assert code == 0, error
        first = min(epochs_of(error), default=epochs + 1)
        assert first > world.notes["epochs"], f"epoch {world.notes['epochs']} was told of, and {first} made again"
        return digest("out.onnx")(world)
    return {"act": act, "see": see}


def epochs_program(world, *words):
    return world.run("owner", *words, program=world.flags.epochs)


def follow(number):
    def act(world):
        code, _, error = epochs_program(world, "follow", "epoch-file", number)
        assert code in (0, CUT), error
        return code == 0
    return act


def see_epoch(world):
    code, out, error = epochs_program(world, "show", "epoch-file")
    assert code == 0, error
    return out


def next_epoch(world):
    """Two coordinators never get the same number."""
    code, out, error = epochs_program(world, "next", ".config/shoal/cluster")
    assert code in (0, CUT), error
    world.notes["last"] = int(out or 0)
    return code == 0


def see_next_epoch(world):
    code, out, error = epochs_program(world, "next", ".config/shoal/cluster")
    assert code == 0 and int(out) > world.notes["last"], (out, error)
    return "more"


TUNED = "run", "--tune", "fast", "--threads", 1, "--packed-cache", "packed", "--json"


def see_tuned(world):
    return [row["digit"] for row in json.loads(world.call("owner", *TUNED))]


PRESET = "run", "zoo:lenet5", "--input", "x.png", "--mean", "0.5", "--std", "0.25", "--save-preset", "mine", "--tune", "off"


def write_inputs(world):
    """A black image and an array of ones."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    side = 28
    (world.home("owner") / "x.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(bytes((side + 1) * side))) + chunk(b"IEND", b""))
    np.save(world.home("owner") / "x.npy", np.ones([1, 1, side, side], np.float32))


renew = {"act": with_device("cluster", "renew", file="certificate.pem"),
         "see": see_device("cluster", "renew", file="certificate.pem")}
ADD = Scenario("add", add("hall"), LIST, before=(INIT,))

# All that writes files which last. A new writer is one more line.
SCENARIOS = [
    Scenario("init", INIT, see_cluster, again=False),
    ADD,
    Scenario("add-more", add("attic"), LIST, before=(INIT, add("hall"), add("attic", 7002))),
    Scenario("remove", command("cluster", "remove", "hall"), LIST, before=(INIT, add("hall"), add("attic")), again=False),
    Scenario("next-epoch", next_epoch, see_next_epoch, before=(INIT,), whole=False),
    Scenario("epoch", follow(7), see_epoch, before=(follow(5), follow(6))),
    Scenario("invite", print_token, see_token, before=(INIT,), whole=False),
    Scenario("join-owner", join, see_joined, before=(INIT,), whole=False),
    Scenario("join-device", join, see_joined, before=(INIT,), whole=False, machine="device"),
    Scenario("join-once", join, thief_is_refused, before=(INIT,), whole=False),
    Scenario("revoke", command("cluster", "remove", "device"), see_revoked, before=(settled,), whole=False),
    Scenario("deny-list", with_device("cluster", "renew", file="denied"), see_device("cluster", "renew", file="denied"),
             before=(removed_another,), whole=False, machine="device", slow=True),
    Scenario("renew-device", **renew, before=(settled,), whole=False, machine="device", slow=True),
    Scenario("renew-owner", **renew, before=(settled,), whole=False, slow=True),
    Scenario("store", answer_by_device("--store", "store"), see_answers("--store", "store"), before=(settled,),
             whole=False, machine="device", slow=True),
    Scenario("profile-and-plan", answer_by_device(), see_answers(), before=(settled,), whole=False, slow=True),
    Scenario("tune-and-pack", command(*TUNED), see_tuned, whole=False),
    Scenario("preset", command(*PRESET), digest(".config/shoal/presets/*.json"), before=(write_inputs,)),
    Scenario("preset-anew", command(*PRESET), digest(".config/shoal/presets/*.json"),
             before=(write_inputs, command(*PRESET, "--no-scale"))),
    Scenario("zoo", command("zoo", "lenet5", "-o", "out.onnx"), digest("out.onnx"),
             before=(command("zoo", "mlp", "-o", "out.onnx"),)),
    Scenario("convert", command("convert", "zoo:lenet5", "-o", "out.onnx"), digest("out.onnx")),
    Scenario("save", command("run", "zoo:lenet5", "--input", "x.npy", "--save", "results/out", "--tune", "off"),
             digest("results/out/*.npy"), before=(write_inputs,)),
    Scenario("train", before=(write_digits,), whole=False, **train(epochs=3)),
    Scenario("train-on", before=(write_digits,), whole=False, **train(epochs=12)),
    Scenario("page", command("plan", "zoo:lenet5", "--workers", 2, "--html", "page.html"), digest("page.html")),
]


class Templates:
    """Worlds as they are before scenarios; those with the same actions before them have one."""

    def __init__(self, flags, at):
        self.flags, self.at, self.made = flags, at, {}

    def of(self, actions):
        if actions not in self.made:
            ports = {name: free_port() for name in ("owner", "device", "thief")}
            world = self.made[actions] = World(self.flags, self.at / str(len(self.made)), ports)
            for action in actions:
                action(world)
                world.stop()
        return self.made[actions]


class Trial:
    """One scenario: its steps, and a cut at each."""

    def __init__(self, scenario, templates, at, lost=""):
        self.scenario, self.flags, self.at, self.lost = scenario, templates.flags, at, lost
        self.template = templates.of(scenario.before).copy_to(at / "template")
        self.template.home(scenario.machine)
        self.looked_at = set()  # what was found on disks, and what was known of it
        self.first = None
        if scenario.whole:
            self.first = self.look(self.fresh("first"))
        world, steps, _ = self.powered(0)
        assert self.scenario.act(world), f"{scenario.name}: does not work without a cut"
        world.stop()
        self.steps = steps.read_text().splitlines() if steps.exists() else []
        self.last = self.look(world.copy_to(self.at / "last"), world.notes)

    def fresh(self, name):
        shutil.rmtree(self.at / name, ignore_errors=True)
        return self.template.copy_to(self.at / name)

    def powered(self, cut):
        for name in "disk", "world", "steps":
            path = self.at / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        world = self.fresh("world")
        disk = Disk(self.at / "disk", world.home(self.scenario.machine), self.lost)
        world.power[self.scenario.machine] = disk, cut, self.at / "steps"
        return world, self.at / "steps", disk

    def look(self, world, notes=None):
        world.notes = dict(notes or {})
        try:
            return self.scenario.see(world)
        finally:
            world.stop()

    def cut_at(self, step):
        """What is wrong on a disk that kept what was synced before this step."""
        world, _, disk = self.powered(step)
        acknowledged = world.notes["acknowledged"] = self.scenario.act(world)
        world.stop()
        return [wrong for way in WAYS if (wrong := self.wrong_after(world, disk, way, step, acknowledged))]

    def wrong_after(self, world, disk, way, step, acknowledged):
        shutil.rmtree(self.at / "after", ignore_errors=True)
        after = World(self.flags, self.at / "after", world.ports)
        for machine in world.at.iterdir():
            if machine.name == self.scenario.machine:
                disk.rebuild(machine, after.at / machine.name, way, f"{self.scenario.name} {step}")
            else:
                shutil.copytree(machine, after.at / machine.name, symlinks=True)
        state = fingerprint(after.at), repr(sorted(world.notes.items()))
        if state in self.looked_at:
            return None
        self.looked_at.add(state)
        try:
            found = self.look(after, world.notes)
            assert found == self.last or (not acknowledged and found == self.first), \
                f"{'acknowledged, but ' if acknowledged else ''}found {found}, wanted {self.last}"
            if self.scenario.whole and self.scenario.again:
                assert self.scenario.act(after), "cannot be repeated"
                after.stop()
                found = self.look(after, after.notes)
                assert found == self.last, f"repeated, found {found}, wanted {self.last}"
        except (AssertionError, subprocess.TimeoutExpired) as error:
            after.stop()
            where = self.steps[step - 1] if step <= len(self.steps) else "the end"
            return f"{self.scenario.name}: cut before step {step} ({where}), disk '{way}': {error}"
        return None


def misses(templates, lost):
    """Whether a program that does not sync its files, or its folders, would pass."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(ADD, templates, pathlib.Path(folder), lost)
        return not trial.cut_at(len(trial.steps) + 1)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def chosen(count, wanted):
    """Evenly spread steps from 1 to `count`, the last among them."""
    if wanted is None or wanted >= count:
        return list(range(1, count + 1))
    return sorted({count - i * count // wanted for i in range(wanted)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal", type=pathlib.Path)
    parser.add_argument("shim", type=pathlib.Path)
    parser.add_argument("epochs", type=pathlib.Path)
    parser.add_argument("--points", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    flags = parser.parse_args()
    flags.shoal, flags.shim, flags.epochs = (path.resolve() for path in (flags.shoal, flags.shim, flags.epochs))
    scenarios = [scenario for scenario in SCENARIOS if flags.only in scenario.name]
    if flags.points is not None:
        scenarios = [scenario for scenario in scenarios if scenario.name != "train-on"]  # more of the same
    share = None if flags.points is None else max(1, flags.points // len(scenarios))
    with tempfile.TemporaryDirectory() as folder:
        return run(flags, scenarios, share, Templates(flags, pathlib.Path(folder)))


def run(flags, scenarios, share, templates):
    """Cuts each scenario at `share` steps, or at all of them."""
    points, disks = 0, 0
    wrong = [f"a lost fsync of {lost} is not found" for lost in ("files", "folders") if misses(templates, lost)]
    print("\n".join(wrong), end="\n" if wrong else "")
    for scenario in scenarios:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(scenario, templates, pathlib.Path(folder))
            if flags.verbose:
                print("\n".join(f"  {i + 1} {step}" for i, step in enumerate(trial.steps)))
            steps = chosen(len(trial.steps) + 1, share and max(1, share // 3) if scenario.slow else share)
            found = []
            for step in steps:
                for line in trial.cut_at(step):
                    print(line, flush=True)
                    found.append(line)
        points, disks, wrong = points + len(steps), disks + len(trial.looked_at), wrong + found
        print(f"{'FAIL' if found else 'ok  '} {scenario.name}: {len(steps)} of {len(trial.steps) + 1} cuts, "
              f"{len(trial.looked_at)} disks, {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{points} cuts, {len(WAYS)} ways to rebuild a disk, {disks} disks, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
