"""shoal serve against requests that nobody sends by accident: valid ones, changed, over HTTP and gRPC; and slow clients.

hostile_test.py SHOAL [PART OF A TEST'S NAME]

The same seed sends the same requests. REQUESTS, SEED and CONNECTIONS in the environment change how many and which;
by hand, a build with the address sanitizer gets 100,000 requests and 10,000 connections:
  REQUESTS=100000 CONNECTIONS=10000 hostile_test.py build/fuzz/shoal
"""
import collections
import http.client
import json
import os
import pathlib
import random
import resource
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import TIMEOUT, Running, run_tests  # noqa: E402

try:
    import grpc
except ImportError:
    grpc = None

REQUESTS = int(os.environ.get("REQUESTS", "2000"))
SEED = int(os.environ.get("SEED", "1"))
CONNECTIONS = int(os.environ.get("CONNECTIONS", "1000"))
THREADS = 4
KEY = "0123456789abcdef"
PIXELS = 28 * 28
RAW = struct.pack(f"<{PIXELS}f", *[0.5] * PIXELS)
PICTURE = (pathlib.Path(__file__).resolve().parents[2] / "shoal/model/zoo/digits/sample_7.png").read_bytes()
MODEL = "/v2/models/digits"


class Server(Running):
    def __init__(self, *args):
        super().__init__("serve", "--listen", "127.0.0.1:0", "--tune", "off", *args)
        words = self.line().split()
        assert words[:1] == ["ready"], self.process.stderr.read()
        self.address = words[1].removeprefix("http://").split(":")
        self.grpc = words[2].removeprefix("grpc://") if len(words) > 2 else None

    def ask(self, method, path, body=None, key=KEY):
        connection = http.client.HTTPConnection(*self.address, timeout=TIMEOUT)
        connection.request(method, path, body, {"Authorization": f"Bearer {key}"} if key else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def end(self):
        """It ends well: no leak, where a sanitizer looks for them."""
        self.process.terminate()
        _, errors = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, (self.process.returncode, errors[-4000:])


def keys_file(folder):
    path = folder / "keys"
    path.write_text(f"alice {KEY}\n")
    path.chmod(0o600)
    return path


def spread(work):
    """work(draw, count) on several threads, each with numbers of its own. Returns what was counted."""
    counts, failed = [], []

    def one(number):
        try:
            counts.append(work(random.Random(SEED * 1000 + number), REQUESTS // THREADS))
        except Exception as error:  # to be raised by the thread that waits
            failed.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return sum(counts, collections.Counter())


# Changes of any value.

NUMBERS = [0, 1, -1, 2, 27, 28, 784, 3136, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 1e308, 0.5, -0.0]
TEXTS = ["", "image", "scores", "digits", "FP32", "FP64", "BYTES", "BOOL", "INT8", "\0", "../../etc/passwd", "é" * 200, "\ud800"]


def change_bytes(draw, data):
    data = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        if data:
            data[draw.randrange(len(data))] = draw.randrange(256)
    kind = draw.randrange(6)
    if kind == 0:
        del data[draw.randrange(len(data) + 1):]
    elif kind == 1 and data:
        at = draw.randrange(len(data))
        data[at:at] = data[at:at + draw.randrange(64)] * draw.randint(1, 30)
    return bytes(data)


def change_json(draw, value):
    kind = draw.randrange(10)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind == 1:
        return draw.choice(TEXTS)
    if kind == 2:
        return draw.choice([None, True, [], {}, [value], {"data": value}])
    if isinstance(value, dict) and value:
        name = draw.choice(sorted(value))
        if kind == 3:
            return {key: one for key, one in value.items() if key != name}
        if kind == 4:
            return {**value, draw.choice(TEXTS): value[name]}
        return {**value, name: change_json(draw, value[name])}
    if isinstance(value, list) and value:
        at = draw.randrange(len(value))
        if kind == 3:
            return value[:at]
        if kind == 4:
            return value + value[:2]
        return value[:at] + [change_json(draw, value[at])] + value[at + 1:]
    return draw.choice(NUMBERS)


# HTTP.

def infer_parts(draw):
    """(fields, body) of an inference, as JSON or with binary tensors."""
    parameters = draw.choice([{}, {"priority": 1}, {"timeout": 1000000}, {"binary_data_output": True}])
    tensor = {"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28]}
    fields, tail = [], b""
    if draw.random() < 0.5:
        tensor["parameters"] = {"binary_data_size": len(RAW)}
        tail = RAW
    else:
        tensor["data"] = [0.5] * PIXELS
    message = {"id": "1", "inputs": [tensor], "outputs": [{"name": "scores"}], "parameters": parameters}
    while draw.random() < 0.4:
        message = change_json(draw, message)
    text = json.dumps(message).encode()
    if draw.random() < 0.05:
        text = b'{"inputs":' + draw.choice([b"[", b'{"a":', b"[[1,"]) * draw.randrange(20000)
    if draw.random() < 0.2:
        text = change_bytes(draw, text)
    if tail or draw.random() < 0.05:
        size = len(text) if draw.random() < 0.9 else draw.choice([0, 1, len(text) + 1, 2**31, 2**64, -1, "x"])
        fields.append(("Inference-Header-Content-Length", str(size)))
    if draw.random() < 0.1:
        tail = change_bytes(draw, tail)
    return fields, text + tail


GETS = ["/", "/metrics", "/page/style.css", "/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/stats", MODEL,
        MODEL + "/ready", MODEL + "/config", MODEL + "/stats", MODEL + "/versions/1", "/v2/models/none"]
FIELDS = [("Expect", "100-continue"), ("Content-Encoding", "gzip"), ("Origin", "http://evil.example"), ("Range", "bytes=0-"),
          ("Content-Type", "text/plain"), ("Shoal-Priority", "1"), ("Shoal-Priority", "\x01"), ("If-None-Match", "*"),
          ("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "gzip, chunked"), ("Content-Length", "5"),
          ("Content-Length", "99999999999999999999"), ("Connection", "keep-alive, close"), ("Upgrade", "h2c"),
          ("Authorization", ""), ("Authorization", "Bearer"), ("X" * 200, "y" * 9000), ("Host", "")]


def chunked(draw, body):
    text = b""
    while body:
        size = draw.randint(1, 2000)
        text += b"%x%s\r\n%s\r\n" % (size if draw.random() < 0.05 else len(body[:size]), draw.choice([b"", b"", b";a=b"]),
                                     body[:size])
        body = body[size:]
    return text + draw.choice([b"0\r\n\r\n"] * 8 + [b"0\r\nA: b\r\n\r\n", b"\r\n", b"-1\r\n\r\n", b"fffffffffffffffff\r\n"])


def http_request(draw):
    """(bytes, whether they show a key)"""
    kind = draw.randrange(10)
    fields, body = [], b""
    if kind < 3:
        method, target = "GET", draw.choice(GETS)
    elif kind < 8:
        method, target = "POST", MODEL + draw.choice(["", "/versions/1"]) + "/infer"
        fields, body = infer_parts(draw)
    elif kind == 8:
        method, target = "POST", MODEL + "/classify?top=" + draw.choice(["3", "0", "-1", "99999999999999999999", "3&top=x"])
        body = PICTURE if draw.random() < 0.5 else change_bytes(draw, PICTURE)
    else:
        method = "POST"
        target = draw.choice(["/v2/repository/index", "/v2/repository/models/none/load", "/v2/repository/models/none/unload"])
        body = draw.choice([b"", b'{"ready":true}', b'{"ready":', b"[]"])
    has_key = draw.random() < 0.5
    if has_key:
        fields.append(("Authorization", f"Bearer {KEY}"))
    elif draw.random() < 0.5:
        fields.append(("Authorization", draw.choice(["Bearer " + KEY[:-1], "Bearer " + KEY + "0", "Basic " + KEY, KEY])))
    if draw.random() < 0.1:
        method = draw.choice(["GET", "POST", "PUT", "HEAD", "OPTIONS", "CONNECT", "PRI", "get", "X" * 300, ""])
    if draw.random() < 0.1:
        target = change_bytes(draw, target.encode()).decode("latin-1")
    if draw.random() < 0.1:
        fields.append(draw.choice(FIELDS))
    draw.shuffle(fields)
    if body and draw.random() < 0.2:
        fields.append(("Transfer-Encoding", "chunked"))
        body = chunked(draw, body)
    elif body or method == "POST":
        size = len(body) if draw.random() < 0.95 else draw.choice([0, 1, len(body) - 1, len(body) + 1, 2**40])
        fields.append(("Content-Length", str(size)))
    line = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{name}: {text}\r\n" for name, text in fields)
    whole = line.encode("latin-1", "replace") + b"\r\n" + body
    if draw.random() < 0.05:
        whole = change_bytes(draw, whole)
    return whole, f"Bearer {KEY}\r\n".encode() in whole


def answers_in(data):
    """The answers of a connection: (status, head, body)."""
    answers = []
    while data:
        head, gap, rest = data.partition(b"\r\n\r\n")
        if not gap:
            assert not answers or len(data) < 100, data[:200]  # the connection ended on the way
            break
        assert head.startswith(b"HTTP/1.1 "), head[:200]
        status = int(head.split()[1])
        size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        answers.append((status, head, rest[:size]))
        data = rest[size:]
    return answers


STATUSES = {100, 200, 304, 400, 401, 403, 404, 405, 413, 415, 429, 431, 499, 501, 503, 504}


def check_answer(status, head, body, has_key, request):
    assert status in STATUSES, (status, body[:200], request[:300])
    if status >= 400:
        assert isinstance(json.loads(body)["error"], str), body
    if status == 200 and not has_key:
        is_open = body in (b'{"live":true}', b'{"ready":true}') or b"Content-Security-Policy" in head
        assert is_open, ("an answer without a key", head, body[:200], request[:300])


def send_http(server, draw, request, has_key, counts):
    with socket.create_connection(server.address, timeout=TIMEOUT) as connection:
        try:
            cut = draw.randrange(len(request) + 1) if draw.random() < 0.2 else len(request)
            for piece in (request[:cut], request[cut:]):
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was refused before all of it was sent
        data = b""
        try:
            while chunk := connection.recv(1 << 16):
                data += chunk
        except ConnectionResetError:
            counts["reset"] += 1
    if not data:
        counts["closed"] += 1
    for status, head, body in answers_in(data):
        check_answer(status, head, body, has_key, request)
        counts[status] += 1


def test_http(folder):
    with Server("--keys", keys_file(folder), "--max-body", "1") as server:

        def work(draw, count):
            counts = collections.Counter()
            for _ in range(count):
                request, has_key = http_request(draw)
                send_http(server, draw, request, has_key, counts)
            return counts

        counts = spread(work)
        print("http:", dict(sorted(counts.items(), key=str)))
        assert min(counts[status] for status in (200, 400, 401, 404)) > REQUESTS // 100, counts
        assert server.ask("POST", MODEL + "/infer", json.dumps({"inputs": [{
            "name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": [0.5] * PIXELS}]}))[0] == 200
        server.end()


# gRPC: messages as lists of (number, value), where a value is a number, bytes or such a list.

def varint(number):
    number &= 2**64 - 1
    text = b""
    while number >= 128:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def encode(message):
    text = b""
    for number, value in message:
        if isinstance(value, int):
            text += varint(number << 3) + varint(value)
        else:
            value = encode(value) if isinstance(value, list) else value
            text += varint(number << 3 | 2) + varint(len(value)) + value
    return text


def change_message(draw, message):
    message = list(message)
    at = draw.randrange(len(message)) if message else 0
    kind = draw.randrange(7)
    if not message or kind == 0:
        message.insert(at, (draw.choice([1, 2, 3, 5, 7, 16, 2**29 - 1]), draw.choice([b"", b"x" * 40, 2**64 - 1, []])))
        return message
    number, value = message[at]
    if kind == 1:
        del message[at]
    elif kind == 2:
        message.append((number, value))
    elif kind == 3:
        message[at] = (draw.randint(1, 20), value)
    elif isinstance(value, list):
        message[at] = (number, change_message(draw, value))
    elif isinstance(value, int):
        message[at] = (number, int(draw.choice(NUMBERS)) if draw.random() < 0.8 else b"text")
    else:
        message[at] = (number, change_bytes(draw, value) if draw.random() < 0.8 else draw.randrange(1 << 20))
    return message


def infer_message(draw):
    tensor = [(1, b"image"), (2, b"FP32")] + [(3, dim) for dim in (1, 1, 28, 28)]
    typed = [(5, [(6, RAW)])]  # packed
    parameter = [(4, [(1, draw.choice([b"priority", b"timeout", b"x"])), (2, [(draw.randint(1, 5), draw.choice([1, 9, b"x"]))])])]
    message = [(1, b"digits"), (3, b"42"), (6, [(1, b"scores")])] + (parameter if draw.random() < 0.3 else [])
    if draw.random() < 0.5:
        return message + [(5, tensor), (7, RAW)]
    return message + [(5, tensor + typed)]


NAMED = [(1, b"digits"), (2, b"1")]
METHODS = {"ServerMetadata": [], "ModelReady": NAMED, "ModelMetadata": NAMED, "ModelStatistics": NAMED, "ServerLive": [],
           "ServerReady": [], "RepositoryIndex": [(2, 1)], "RepositoryModelLoad": [(2, b"none")], "ModelConfig": NAMED,
           "RepositoryModelUnload": [(2, b"none")]}
OPEN_METHODS = ("ServerLive", "ServerReady")


def grpc_request(draw):
    """(method, bytes, key)"""
    method = "ModelInfer" if draw.random() < 0.7 else draw.choice(sorted(METHODS))
    message = METHODS[method] if method in METHODS else infer_message(draw)
    while draw.random() < 0.6:
        message = change_message(draw, message)
    data = encode(message)
    if draw.random() < 0.2:
        data = change_bytes(draw, data)
    key = KEY if draw.random() < 0.6 else draw.choice([None, KEY[:-1], KEY + "0", ""])
    return method, data, key


def test_grpc(folder):
    if grpc is None:
        print("gRPC is left out: no python3-grpcio")
        return
    try:
        server = Server("--keys", keys_file(folder), "--grpc", "127.0.0.1:0", "--max-body", "1")
    except AssertionError as error:
        print(f"gRPC is left out: {error}")
        return
    code = grpc.StatusCode
    allowed = {code.INVALID_ARGUMENT, code.NOT_FOUND, code.UNIMPLEMENTED, code.DEADLINE_EXCEEDED, code.UNAUTHENTICATED,
               code.RESOURCE_EXHAUSTED, code.INTERNAL}
    with server:

        def work(draw, count):
            counts = collections.Counter()
            with grpc.insecure_channel(server.grpc, [("grpc.use_local_subchannel_pool", 1)]) as channel:
                for _ in range(count):
                    method, data, key = grpc_request(draw)
                    path = f"/inference.GRPCInferenceService/{method}"
                    metadata = [] if key is None else [("authorization", f"Bearer {key}")]
                    call = ask_grpc(channel, path, data, metadata)
                    counts[call.code().name] += 1
                    if call.code() == code.OK:
                        assert key == KEY or method in OPEN_METHODS, ("an answer without a key", method, key, data)
                        continue
                    assert call.code() in allowed, (call.code(), call.details(), method, data[:100])
                    assert call.details() != "Deadline Exceeded", "no answer"  # the client's own word
                    # gRPC's own word for a message that cannot be parsed.
                    assert call.code() != code.INTERNAL or "pars" in call.details().lower(), (call.details(), data[:100])
            return counts

        counts = spread(work)
        print("grpc:", dict(counts))
        assert min(counts[name] for name in ("OK", "INVALID_ARGUMENT", "UNAUTHENTICATED")) > REQUESTS // 100, counts
        draw = random.Random(SEED)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # and empty settings
        frames = b"".join(struct.pack(">IBBI", 8, kind, 5, 1)[1:] + bytes(8) for kind in range(10))
        for _ in range(REQUESTS // 20):
            with socket.create_connection(server.grpc.split(":"), timeout=TIMEOUT) as stranger:
                try:
                    stranger.sendall(change_bytes(draw, preface + frames * draw.randint(0, 3)))
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(1 << 16):
                        pass
                except OSError:
                    pass  # it was refused before all of it was sent
        with grpc.insecure_channel(server.grpc) as channel:
            call = ask_grpc(channel, "/inference.GRPCInferenceService/ModelInfer", encode(
                [(1, b"digits"), (5, [(1, b"image"), (2, b"FP32")] + [(3, dim) for dim in (1, 1, 28, 28)]), (7, RAW)]),
                [("authorization", f"Bearer {KEY}")])
            assert call.code() == code.OK, call.details()
        server.end()


def ask_grpc(channel, path, data, metadata):
    # A machine that is busy may take longer to accept than gRPC waits.
    call = channel.unary_unary(path).future(data, timeout=TIMEOUT, metadata=metadata, wait_for_ready=True)
    call.exception()  # waits
    return call


# Slow clients.

def open_slowly(server, count):
    """Connections that have sent the beginning of a request."""
    opened = []
    for _ in range(count):
        one = socket.create_connection(server.address, timeout=TIMEOUT)
        try:
            one.sendall(f"POST {MODEL}/infer HTTP/1.1\r\nHost: x\r\nX-A".encode())
        except OSError:
            pass  # it has given way already
        opened.append(one)
    return opened


def go_on(connections):
    """One more byte each. Returns how many are still open."""
    still = 0
    for one in connections:
        try:
            one.sendall(b"a")
            one.setblocking(False)
            still += one.recv(1) != b""
        except BlockingIOError:
            still += 1
        except OSError:
            pass
    return still


def test_slow_clients(_):
    """Others are served, where slow ones give way to them and where there is room for all."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(CONNECTIONS, most - 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    body = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": [0.5] * PIXELS}]})
    for room in (64, count + 100):
        with Server("--max-connections", room) as server:
            begin = time.monotonic()
            slow = open_slowly(server, count)
            times = []
            for _ in range(20):
                asked = time.monotonic()
                assert server.ask("POST", MODEL + "/infer", body, None)[0] == 200
                times.append(time.monotonic() - asked)
            still = go_on(slow)
            assert still <= room, (still, room)
            print(f"{count} slow connections, room for {room}: {still} are open after {time.monotonic() - begin:.1f} s;"
                  f" 20 requests of others answered, the slowest in {1e3 * max(times):.1f} ms")
            if "CONNECTIONS" in os.environ:  # by hand: how long they may take
                while go_on(slow) > 0:
                    time.sleep(0.5)
                print(f"all were closed after {time.monotonic() - begin:.1f} s")
            for one in slow:
                one.close()
            server.end()


run_tests(globals())
