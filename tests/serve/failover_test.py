"""Servers of which one answers and the others stand by, with a real etcd: failover_test.py SHOAL [PART OF A TEST'S NAME]

etcd of Debian's package etcd-server, on this machine only and in a temporary folder; exit code 77 without.
SECONDS, RATE (requests a second) and TTL in the environment change the test of fail-over.

On a machine that is busy enough, a leader may fail to renew its record in time, and another server take over, at any moment. So
tests wait for what they want to see, and fail where two lead at once.
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import TIMEOUT, Running, run_tests, wait_for  # noqa: E402

try:
    import grpc
except ImportError:
    grpc = None

if shutil.which("etcd") is None:
    print("skipped: etcd is not here")
    sys.exit(77)

SECONDS = float(os.environ.get("SECONDS", "5"))
RATE = float(os.environ.get("RATE", "200"))
TTL = os.environ.get("TTL", "1")
CLIENTS = 16
PIXELS = 28 * 28
INFER = "/v2/models/digits/infer"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Etcd:
    def __init__(self, folder):
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        self.url = client
        self.command = ["etcd", "--data-dir", folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.is_healthy)

    def is_healthy(self):
        try:
            return call(self.url, "GET", "/health")[0] == 200
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def call(url, method, path, body=None):
    """(status, headers, body)"""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=TIMEOUT)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class Server(Running):
    def __init__(self, store, *args, listen="127.0.0.1:0"):
        super().__init__("serve", "--listen", listen, "--tune", "off", "--leader-store", store.url + "/digits", "--ttl", TTL, *args)
        words = self.line().split()
        assert words[:1] == ["ready"], self.process.stderr.read()
        self.url = words[1]
        self.grpc = words[2].removeprefix("grpc://") if len(words) > 2 else None

    def is_ready(self):
        return call(self.url, "GET", "/v2/health/ready")[0] == 200

    def infer(self, number=0):
        return call(self.url, "POST", INFER, request(number))

    def answers(self):
        return self.infer()[0] == 200

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        super().__exit__()


def request(number):
    pixels = [((number * 37 + i) % 101) / 101 for i in range(PIXELS)]
    return json.dumps({"id": str(number), "inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": pixels}]})


def scores_of(number, body):
    answer = json.loads(body)
    assert answer["id"] == str(number), answer
    return answer["outputs"][0]["data"]


def wait_for_answer(server, number):
    """Its body."""
    answers = []

    def is_answered():
        answers.append(server.infer(number))
        return answers[-1][0] == 200

    wait_for(is_answered)
    return answers[-1][2]


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 * (1 + abs(y)) for x, y in zip(a, b))


class Load:
    """Clients that know both servers, and ask the other one whenever they are not answered."""

    def __init__(self, urls, expected):
        self.urls, self.expected = urls, expected
        self.answers = []  # (time, server)
        self.wrong = []
        self.begin = time.monotonic()
        self.threads = [threading.Thread(target=self.one, args=(i,)) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def one(self, first):
        where = 0
        for number in range(first, int(RATE * SECONDS), CLIENTS):
            time.sleep(max(0, self.begin + number / RATE - time.monotonic()))
            kind = number % len(self.expected)
            while True:
                try:
                    status, _, body = call(self.urls[where], "POST", INFER, request(kind))
                except (OSError, http.client.HTTPException):
                    status = None
                if status == 200:
                    break
                if status not in (None, 503):
                    self.wrong.append((number, status, body))
                    return
                where = 1 - where
                time.sleep(0.02)
            self.answers.append((time.monotonic(), where))
            if not near(scores_of(kind, body), self.expected[kind]):
                self.wrong.append((number, body))

    def wait(self):
        for thread in self.threads:
            thread.join()

    def longest_gap(self):
        times = sorted(at for at, _ in self.answers)
        return max(b - a for a, b in zip(times, times[1:]))


def check_one_leads(first, second):
    """Whoever takes over waits for the time to live, which is longer than asking both."""
    assert not (first.is_ready() and second.is_ready()), "two servers lead"


def wait_until(moment):
    time.sleep(max(0, moment - time.monotonic()))


def test_nothing_is_lost_when_the_one_that_answers_is_killed_or_ends(folder):
    with Etcd(folder) as store, Server(store) as first:
        wait_for(first.is_ready)
        expected = [scores_of(i, wait_for_answer(first, i)) for i in range(7)]
        with Server(store) as second:
            check_one_leads(first, second)
            load = Load([first.url, second.url], expected)
            wait_until(load.begin + 0.2 * SECONDS)
            killed = time.monotonic()
            first.process.kill()
            first.process.wait()
            wait_for(second.is_ready)
            print(f"ready {time.monotonic() - killed:.2f} s after the other was killed")
            with Server(store, listen=first.url.removeprefix("http://")) as third:
                wait_until(load.begin + 0.7 * SECONDS)
                ended = time.monotonic()
                second.process.terminate()
                wait_for(third.is_ready)
                print(f"ready {time.monotonic() - ended:.2f} s after the other was told to end")
                load.wait()
        count = len(load.answers)
        print(f"{count} requests answered, {len(load.wrong)} wrong; {load.longest_gap():.2f} s without an answer at most")
        assert not load.wrong, load.wrong[0]
        assert count == int(RATE * SECONDS), count
        assert {where for _, where in load.answers} == {0, 1}


def test_a_leader_that_was_stopped_does_not_answer_when_it_goes_on(folder):
    with Etcd(folder) as store, Server(store) as first:
        wait_for(first.is_ready)
        with Server(store) as second:
            first.process.send_signal(signal.SIGSTOP)
            wait_for(lambda: is_stopped(first.process.pid))
            waiting = http.client.HTTPConnection(first.url.removeprefix("http://"), timeout=TIMEOUT)
            waiting.request("POST", INFER, request(0))  # the system takes it
            wait_for(second.answers)
            first.process.send_signal(signal.SIGCONT)
            answer = waiting.getresponse()
            if answer.status == 200:  # it may lead again, if the other one does not
                assert not second.is_ready(), "two servers lead"
            else:
                assert (answer.status, answer.headers["Retry-After"]) == (503, "1"), (answer.status, answer.read())
            waiting.close()
            check_one_leads(first, second)
            wait_for(lambda: sorted(leader_metric(one) for one in (first, second)) == ["shoal_leader 0", "shoal_leader 1"])


def is_stopped(pid):
    """All of its threads: one that has not heard of it may still answer."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return all((task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T" for task in tasks)


def leader_metric(server):
    lines = call(server.url, "GET", "/metrics")[2].decode().splitlines()
    return next(line for line in lines if line.startswith("shoal_leader"))


def test_nobody_answers_without_the_store(folder):
    with Etcd(folder) as store, Server(store) as server:
        wait_for(server.answers)
        store.stop()
        wait_for(lambda: not server.is_ready())
        status, headers, _ = server.infer()
        assert (status, headers["Retry-After"]) == (503, "1")
        assert call(server.url, "GET", "/v2/health/live")[0] == 200
        store.start()
        wait_for(server.answers)


def test_grpc_says_so_too(folder):
    if grpc is None:
        print("gRPC is left out: no python3-grpcio")
        return
    with Etcd(folder) as store:
        try:
            first = Server(store, "--grpc", "127.0.0.1:0")
        except AssertionError as error:
            print(f"gRPC is left out: {error}")
            return
        with first, Server(store, "--grpc", "127.0.0.1:0") as second, \
                grpc.insecure_channel(first.grpc) as one, grpc.insecure_channel(second.grpc) as other:
            named, yes = b"\x0a\x06digits", b"\x08\x01"

            def ask(channel, path, data=b""):
                try:
                    return channel.unary_unary(path)(data, timeout=TIMEOUT)
                except grpc.RpcError as error:
                    return error.code().name

            def says(channel):
                service = "/inference.GRPCInferenceService/"
                return [ask(channel, "/grpc.health.v1.Health/Check"), ask(channel, service + "ServerReady"),
                        ask(channel, service + "ModelReady", named), ask(channel, service + "ModelInfer", named)]

            # A request without inputs is refused as wrong by the leader only.
            leads, stands_by = [yes, yes, yes, "INVALID_ARGUMENT"], [b"\x08\x02", b"", b"", "UNAVAILABLE"]
            wait_for(lambda: sorted([says(one), says(other)], key=str) == sorted([leads, stands_by], key=str))


run_tests(globals())
