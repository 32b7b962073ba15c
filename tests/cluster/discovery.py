#!/usr/bin/python3
"""Workers found by mDNS: discovery.py SHOAL. 77: no Avahi daemon can be started here, or none is built in.

A bus, a daemon and a network of its own, so that nothing of this machine is announced or found: the
script starts itself again in namespaces. A stranger announces itself too; it is shown, and never listed.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
TIMEOUT = 60  # seconds
ADDRESS = "10.77.0.1"
INSIDE = "SHOAL_DISCOVERY_TEST_INSIDE"
BUS = """<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_destination="*"/>
<allow receive_sender="*"/></policy></busconfig>"""
DAEMON = "[server]\nuse-ipv6=no\nallow-interfaces=veth0\n[wide-area]\nenable-wide-area=no\n"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def enter_namespaces():
    for program in "unshare", "ip", "dbus-daemon", "avahi-daemon":
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            skip(f"there is no {program}")
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0 or subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        skip("namespaces need root")
    os.execvpe(unshare[0], [*unshare, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


def start_network():
    for command in ("mount -t tmpfs none /run", "ip link set lo up", "ip link add veth0 type veth peer name veth1",
                    f"ip addr add {ADDRESS}/24 dev veth0", "ip link set veth0 up", "ip link set veth1 up"):
        subprocess.run(command.split(), check=True)


def start_daemon(folder):
    """A bus and an Avahi daemon on it; their processes end with the namespace."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    (folder / "bus.conf").write_text(BUS.format(path=folder / "bus"))
    (folder / "avahi.conf").write_text(DAEMON)
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={folder / 'bus'}"
    subprocess.run(["dbus-daemon", "--fork", f"--config-file={folder / 'bus.conf'}"], check=True)
    start_avahi(folder)


def start_avahi(folder):
    flags = ["--daemonize", "--no-drop-root", "--no-chroot", "--no-rlimits", "-f", folder / "avahi.conf"]
    subprocess.run(["avahi-daemon", *flags], check=True, stderr=subprocess.DEVNULL)  # returns when it is ready


def stop_avahi():
    """We are the first process of the namespace, so that its daemon is ours to bury."""
    process = int(pathlib.Path("/run/avahi-daemon/pid").read_text())
    os.kill(process, signal.SIGTERM)
    os.waitpid(process, 0)


class Shoal:
    def __init__(self, program, folder):
        self.program, self.folder, self.running = program, folder, []

    def call(self, *words, expect=0):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == expect, f"{words}: exit {done.returncode}, wanted {expect}\n{done.stderr}"
        return done

    def start(self, *words):
        process = subprocess.Popen([self.program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        return process, process.stdout.readline().strip()

    def start_worker(self, cluster, name):
        """A member of that cluster, which is not listed: who chooses its port later cannot be."""
        self.call("cluster", "init", "--dir", self.folder / cluster)
        _, token = self.start("cluster", "invite", "--dir", self.folder / cluster, "--listen", f"{ADDRESS}:0")
        process, ready = self.start("worker", "--dir", self.folder / name, "--name", name, "--listen", f"{ADDRESS}:0",
                                    "--threads", 1, "--join", token)
        return process, ready.split()[2]


def wait_for(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "waited in vain"


def test(shoal, folder):
    shoal.call("cluster", "init", "--dir", folder / "empty")
    absent = shoal.call("devices", "--discover", "--dir", folder / "empty", expect=2).stderr
    if "built without" in absent:
        skip("this shoal was built without discovery")
    assert "no Avahi daemon" in absent and "cluster add NAME ADDRESS" in absent, absent

    start_network()
    start_daemon(folder)
    here = ["--dir", folder / "home"]
    kitchen, address = shoal.start_worker("home", "kitchen")
    shoal.start_worker("elsewhere", "stranger")

    def found():
        words = [shoal.program, "devices", "--discover", "--json", *map(str, here)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
        return {device["name"]: device for device in json.loads(done.stdout or "[]")}

    wait_for(lambda: {"kitchen", "stranger"} <= found().keys())
    devices = found()
    assert devices["kitchen"]["health"] == "ok" and devices["kitchen"]["address"] == address, devices
    assert devices["stranger"]["health"] != "ok", "discovery gives no trust"
    done = shoal.call("cluster", "add", "--discover", *here)
    assert done.stdout == f"kitchen {address}\n" and "not listed: worker stranger" in done.stderr, done
    assert "stranger" not in shoal.call("cluster", "list", *here).stdout

    stop_avahi()
    assert not found()
    start_avahi(folder)
    wait_for(lambda: {"kitchen", "stranger"} <= found().keys())  # they say so again by themselves

    kitchen.terminate()
    wait_for(lambda: "kitchen" not in found() or found()["kitchen"]["health"] != "ok")


def main():
    if INSIDE not in os.environ:
        enter_namespaces()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shoal = Shoal(os.path.abspath(sys.argv[1]), folder)
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={folder / 'bus'}"  # nobody is there yet
        try:
            test(shoal, folder)
        finally:
            for process in shoal.running:
                process.kill()
    print("passed")


main()
