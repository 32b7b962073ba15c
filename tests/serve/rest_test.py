"""shoal serve over HTTP, by Python's own client and curl: every call, the binary extension, errors, reload, drain.

rest_test.py SHOAL [PART OF A TEST'S NAME]
"""
import http.client
import json
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import TIMEOUT, Running, run_tests, shoal, wait_for  # noqa: E402

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "shoal/model/zoo/digits"
PIXELS = 28 * 28
INFER = "/v2/models/digits/infer"


class Server(Running):
    def __init__(self, *args, scheme="http"):
        super().__init__("serve", "--listen", "127.0.0.1:0", "--tune", "off", *args)
        line = self.line()
        assert line.startswith(f"ready {scheme}://127.0.0.1:"), line + self.process.stderr.read()
        self.url = line.split()[1]
        self.host = self.url.removeprefix(f"{scheme}://")

    def call(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT)
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def json(self, method, path, body=None, expect=200):
        status, _, data = self.call(method, path, body)
        assert status == expect, (path, status, data)
        return json.loads(data) if data else None


def ask(connection, method, path, body=None, headers=None):
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def image(value=0.5, count=1):
    return {"name": "image", "datatype": "FP32", "shape": [count, 1, 28, 28], "data": [value] * (count * PIXELS)}


def binary_request(pixels, **more):
    """(body, headers) of a request whose tensor follows the JSON, and whose outputs shall."""
    raw = struct.pack(f"<{len(pixels)}f", *pixels)
    tensor = {"name": "image", "datatype": "FP32", "shape": [len(pixels) // PIXELS, 1, 28, 28],
              "parameters": {"binary_data_size": len(raw)}}
    header = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}, **more}).encode()
    return header + raw, {"inference-header-content-length": str(len(header))}


def scores_of(status, headers, data):
    """The scores in an answer whose outputs follow the JSON."""
    assert status == 200, (status, data)
    size = int(headers["Inference-Header-Content-Length"])
    answer = json.loads(data[:size])
    tail = data[size:]
    assert answer["outputs"][0]["parameters"]["binary_data_size"] == len(tail)
    return answer, struct.unpack(f"<{len(tail) // 4}f", tail)


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 * (1 + abs(y)) for x, y in zip(a, b))


def test_documents(_):
    with Server() as server:
        assert server.json("GET", "/v2/health/live") == {"live": True}
        assert server.json("GET", "/v2/health/ready") == {"ready": True}
        for path in ("/v2", "/v2/"):
            about = server.json("GET", path)
            assert about["name"] == "shoal" and "binary_tensor_data" in about["extensions"]
        for path in ("/v2/models/digits", "/v2/models/digits/versions/1"):
            model = server.json("GET", path)
            assert model["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 28, 28]}], model
            assert model["outputs"] == [{"name": "scores", "datatype": "FP32", "shape": [-1, 10]}], model
            assert model["versions"] == ["1"]
        assert server.json("GET", "/v2/models/digits/ready") == {"name": "digits", "ready": True}
        assert server.json("GET", "/v2/models/digits/config")["name"] == "digits"
        # tritonclient sends neither a body nor its length.
        index = server.json("POST", "/v2/repository/index")
        assert index == [{"name": "digits", "version": "1", "state": "READY", "reason": ""}], index
        assert server.json("POST", "/v2/repository/index", '{"ready": true}') == index


def test_page_files(_):
    with Server() as server:
        status, headers, page = server.call("GET", "/")
        assert status == 200 and headers["Content-Type"].startswith("text/html") and b"<title>Shoal" in page
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy, policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        types = {"style.css": "text/css", "main.js": "text/javascript", "icon.svg": "image/svg+xml", "sample_7.png": "image/png"}
        for name, kind in types.items():
            status, headers, data = server.call("GET", "/page/" + name)
            assert status == 200 and headers["Content-Type"].startswith(kind) and data, (name, headers)
            tag = {"If-None-Match": headers["ETag"]}
            status, headers, again = server.call("GET", "/page/" + name, None, tag)
            assert status == 304 and again == b"" and headers["ETag"] == tag["If-None-Match"], (name, status)
            assert server.call("GET", "/page/" + name, None, {"If-None-Match": '"other"'})[2] == data
        for path in ("/page", "/page/none.js", "/page/../page/style.css", "/page/%2e%2e/x", "/page//etc/passwd", "/style.css"):
            server.json("GET", path, expect=404)
        server.json("POST", "/page/style.css", expect=405)


def test_json_and_binary_agree(_):
    with Server() as server:
        answer = server.json("POST", INFER, json.dumps({"id": "42", "inputs": [image()]}))
        assert answer["id"] == "42" and answer["model_name"] == "digits" and answer["model_version"] == "1"
        scores = answer["outputs"][0]
        assert scores["name"] == "scores" and scores["shape"] == [1, 10] and scores["datatype"] == "FP32"
        nested = image()
        nested["data"] = [[[[0.5] * 28] * 28]]
        assert near(server.json("POST", INFER, json.dumps({"inputs": [nested]}))["outputs"][0]["data"], scores["data"])
        body, headers = binary_request([0.5] * PIXELS, id="é")
        both, values = scores_of(*server.call("POST", INFER, body, headers))
        assert both["id"] == "é" and near(values, scores["data"])
        # One output as JSON though the request asks for binary ones, and raw elements alone.
        body, headers = binary_request([0.5] * PIXELS, outputs=[{"name": "scores", "parameters": {"binary_data": False}}])
        status, _, data = server.call("POST", INFER, body, headers)
        assert status == 200 and near(json.loads(data)["outputs"][0]["data"], scores["data"])
        raw = struct.pack(f"<{2 * PIXELS}f", *[0.5] * (2 * PIXELS))
        _, values = scores_of(*server.call("POST", INFER, raw, {"Inference-Header-Content-Length": "0"}))
        assert near(values, scores["data"] * 2)


def test_errors(_):
    with Server("--max-body", "1") as server:
        ok = json.dumps({"inputs": [image()]})
        for method, path, body, expect in [
                ("GET", "/v2/nothing", None, 404), ("GET", "/v2/models/none", None, 404),
                ("POST", "/v2/models/none/infer", ok, 404), ("POST", "/v2/models/digits/versions/2/infer", ok, 404),
                ("GET", INFER, None, 405), ("POST", "/v2", None, 405), ("POST", INFER, "", 400),
                ("POST", INFER, "{", 400), ("POST", INFER, "{}", 400), ("POST", INFER, '{"inputs":[]}', 400),
                ("POST", INFER, ok.replace("image", "other"), 400), ("POST", INFER, ok.replace("FP32", "FP64"), 400),
                ("POST", INFER, ok.replace("FP32", "BYTES"), 501), ("POST", INFER, ok.replace("28, 28", "28, 27"), 400),
                ("POST", INFER, json.dumps({"inputs": [image()], "outputs": [{"name": "x"}]}), 400),
                ("POST", INFER, json.dumps({"inputs": [image(), image()]}), 400),
                ("POST", INFER, json.dumps({"inputs": [image()], "parameters": {"priority": 9}}), 400),
                ("POST", "/v2/repository/models/none/load", None, 404),
                ("POST", "/v2/repository/models/none/unload", None, 404),
                ("GET", "/../../etc/passwd", None, 404), ("POST", INFER, "x" * (2 << 20), 413)]:
            error = server.json(method, path, body, expect)
            assert isinstance(error["error"], str) and error["error"], (path, error)
        for size in ("-1", "x", "", "99999999999999999999"):
            assert server.call("POST", INFER, b"{}", {"Inference-Header-Content-Length": size})[0] == 400, size
        assert server.call("POST", INFER, b"{}", {"Inference-Header-Content-Length": "3"})[0] == 400
        assert server.call("POST", INFER, b"x", {"Content-Encoding": "gzip"})[0] == 415
        assert server.call("GET", "/v2", None, {"X-Long": "x" * 20000})[0] == 431
        for line in (b"nonsense\r\n\r\n", b"GET /v2 HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"):
            with socket.create_connection(server.host.split(":"), timeout=TIMEOUT) as stranger:
                stranger.sendall(line)
                assert stranger.recv(4096).startswith(b"HTTP/1.1 400"), line
        server.json("POST", INFER, ok)  # and it goes on


def test_connections_are_kept_and_requests_sent_ahead(_):
    with Server() as server:
        connection = http.client.HTTPConnection(server.host, timeout=TIMEOUT)
        body, headers = binary_request([0.25] * PIXELS)
        first = scores_of(*ask(connection, "POST", INFER, body, headers))[1]
        port = connection.sock.getsockname()
        for _ in range(100):
            assert scores_of(*ask(connection, "POST", INFER, body, headers))[1] == first
        assert connection.sock.getsockname() == port
        connection.close()
        with socket.create_connection(server.host.split(":"), timeout=TIMEOUT) as ahead:
            ahead.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n" * 50 +
                          b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = b""
            while chunk := ahead.recv(65536):
                got += chunk
            assert got.count(b'{"live":true}') == 51
        # In pieces, and in chunks.
        with socket.create_connection(server.host.split(":"), timeout=TIMEOUT) as slow:
            request = json.dumps({"inputs": [image()]}).encode()
            text = (b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
                    b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (100, request[:100], len(request) - 100, request[100:]))
            for i in range(0, len(text), 97):
                slow.sendall(text[i:i + 97])
            assert slow.recv(65536).startswith(b"HTTP/1.1 200")


def test_classify(_):
    with Server() as server:
        for digit in range(10):
            answer = server.json("POST", "/v2/models/digits/classify?top=3", (SAMPLES / f"sample_{digit}.png").read_bytes())
            assert len(answer["top"]) == 3 and answer["top"][0]["label"] == str(digit), answer
        server.json("POST", "/v2/models/digits/classify", b"no picture", 501)
        server.json("POST", "/v2/models/digits/classify?top=x", (SAMPLES / "sample_1.png").read_bytes(), 400)


def test_curl(folder):
    if not shutil.which("curl"):
        return
    with Server() as server:
        path = folder / "request.json"
        path.write_text(json.dumps({"inputs": [image(count=2000)]}))  # large: curl waits for 100 Continue
        done = subprocess.run(["curl", "-sS", "--fail", "-H", "Expect: 100-continue", "-d", f"@{path}", server.url + INFER],
                              capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["outputs"][0]["shape"] == [2000, 10]


def test_statistics_and_metrics(_):
    with Server() as server:
        body, headers = binary_request([0.5] * (3 * PIXELS))
        for _ in range(4):
            scores_of(*server.call("POST", INFER, body, headers))
        server.call("POST", INFER, json.dumps({"inputs": [image(), image()]}))  # refused before it counts
        for path in ("/v2/models/digits/stats", "/v2/models/stats"):
            one = server.json("GET", path)["model_stats"][0]
            assert one["name"] == "digits" and one["execution_count"] == 4 and one["inference_count"] >= 4, one
            assert one["inference_stats"]["success"]["count"] == 4 and one["inference_stats"]["success"]["ns"] > 0
            assert one["batch_stats"] and one["last_inference"] > 1_600_000_000_000
        text = server.call("GET", "/metrics")[2].decode()
        assert 'shoal_requests_answered_total{model="digits",version="1"} 4\n' in text, text
        assert 'nv_inference_request_success{model="digits",version="1"} 4\n' in text
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True, timeout=TIMEOUT)


def test_many_clients_share_batches(_):
    with Server("--max-delay", "2000", "--max-batch", "8") as server:
        wrong = []

        def client(number):
            connection = http.client.HTTPConnection(server.host, timeout=TIMEOUT)
            pixels = [number / 16] * PIXELS
            body, headers = binary_request(pixels)
            alone = None
            for _ in range(20):
                values = scores_of(*ask(connection, "POST", INFER, body, headers))[1]
                alone = alone or values
                if not near(values, alone):
                    wrong.append(number)
            connection.close()
            expected = server.json("POST", INFER, json.dumps({"inputs": [image(number / 16)]}))["outputs"][0]["data"]
            if not near(alone, expected):
                wrong.append(number)

        threads = [threading.Thread(target=client, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong
        one = server.json("GET", "/v2/models/digits/stats")["model_stats"][0]
        assert one["inference_count"] == 16 * 21, one
        assert one["execution_count"] < one["inference_count"], one


def test_reload_loses_nothing(_):
    with Server() as server:
        failed, over = [], threading.Event()

        def client():
            connection = http.client.HTTPConnection(server.host, timeout=TIMEOUT)
            body, headers = binary_request([0.5] * PIXELS)
            first = None
            while not over.is_set():
                status, answer, data = ask(connection, "POST", INFER, body, headers)
                if status != 200:
                    failed.append((status, data))
                    return
                values = scores_of(status, answer, data)[1]
                first = first or values
                if not near(values, first):
                    failed.append(values)

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            server.json("POST", "/v2/repository/models/digits/load")
        over.set()
        for thread in threads:
            thread.join()
        assert not failed, failed[:3]
        server.json("POST", "/v2/repository/models/digits/unload")
        server.json("GET", "/v2/models/digits/ready", expect=400)
        server.json("POST", INFER, json.dumps({"inputs": [image()]}), 503)
        assert server.json("POST", "/v2/repository/index")[0]["state"] == "UNAVAILABLE"
        assert server.json("POST", "/v2/repository/index", '{"ready":true}') == []
        server.json("POST", "/v2/repository/models/digits/load")
        server.json("POST", INFER, json.dumps({"inputs": [image()]}))


def test_several_models_by_name(folder):
    shoal("zoo", "lenet5", "-o", folder / "lenet.onnx")
    with Server("zoo:digits", f"other={folder / 'lenet.onnx'}") as server:
        names = [entry["name"] for entry in server.json("POST", "/v2/repository/index")]
        assert names == ["digits", "other"], names
        assert server.json("GET", "/v2/models/other")["name"] == "other"
    shoal("serve", "zoo:digits", "zoo:digits", expect=2)
    shoal("serve", "bad/=x", expect=2)
    shoal("serve", folder / "none.onnx", "--listen", "127.0.0.1:0", expect=3)
    shoal("serve", "--listen", "somewhere:0", expect=2)


def read_answer(connection):
    """What comes until the head of an answer and its body are here."""
    got = b""
    while b"\r\n\r\n" not in got or len(got.split(b"\r\n\r\n", 1)[1]) < int(
            got.split(b"Content-Length: ")[1].split(b"\r\n")[0]):
        chunk = connection.recv(65536)
        assert chunk, got
        got += chunk
    return got


def test_full_queues_refuse_before_the_body(_):
    # A request waits for others to share its batch, and is the only one that may wait.
    with Server("--max-waiting", "1", "--max-delay", "10000000", "--max-batch", "8") as server:
        body, headers = binary_request([0.5] * PIXELS)
        waiting = http.client.HTTPConnection(server.host, timeout=TIMEOUT)
        waiting.request("POST", INFER, body, headers)

        def is_waiting():
            return b'shoal_requests_waiting{model="digits",version="1"} 1\n' in server.call("GET", "/metrics")[2]

        wait_for(is_waiting)
        # Of a long body, nothing is needed for the answer. The connection ends.
        for fields in (b"Content-Length: 9000000", b"Transfer-Encoding: chunked",
                       b"Content-Length: 10\r\nExpect: 100-continue"):
            with socket.create_connection(server.host.split(":"), timeout=TIMEOUT) as long:
                long.sendall(b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n\r\n")
                got = read_answer(long)
                assert got.startswith(b"HTTP/1.1 429") and b"Retry-After: " in got and b"Connection: close" in got, got
        # A short one is skipped, and the connection goes on. Requests of a higher priority are admitted.
        connection = http.client.HTTPConnection(server.host, timeout=TIMEOUT)
        for refused in (body, bytes(1 << 20), body):
            assert ask(connection, "POST", INFER, refused, headers)[0] == 429
        port = connection.sock.getsockname()
        assert ask(connection, "GET", "/v2/health/live")[0] == 200 and connection.sock.getsockname() == port
        refused = server.json("GET", "/v2/models/digits/stats")["model_stats"][0]["inference_stats"]["fail"]["count"]
        assert refused == 6, refused
        connection.request("POST", INFER, body, {**headers, "Shoal-Priority": "1"})
        assert waiting.getresponse().status == 429  # it gave way
        connection.close()
        waiting.close()


def test_pages_of_others_are_refused(_):
    with Server() as server:
        load = "/v2/repository/models/digits/load"
        own = server.url
        for path, headers, expect in [
                (load, {"Origin": "http://evil.example"}, 403), (load, {"Origin": "null"}, 403),
                (load, {"Sec-Fetch-Site": "cross-site"}, 403), (load, {"Content-Type": "text/plain"}, 415),
                (load, {"Origin": "http://evil.example", "Host": "evil.example"}, 403),
                (INFER, {"Origin": "http://evil.example"}, 403),
                (load, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, 200),
                (load, {"Content-Type": "application/json"}, 200)]:
            status, answer, _ = server.call("POST", path, b"", headers)
            assert status == expect, (path, headers, status)
            assert not [name for name in answer if name.lower().startswith("access-control")]
        status, answer, _ = server.call("OPTIONS", load, None, {"Origin": "http://evil.example",
                                                                "Access-Control-Request-Method": "POST"})
        assert status == 405 and not [name for name in answer if name.lower().startswith("access-control")]


def test_keys_and_tls(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                    folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True, timeout=TIMEOUT)
    keys = folder / "keys"
    keys.write_text("alice 0123456789abcdef  # any number\nbob fedcba9876543210 0.001\n")
    shoal("serve", "--keys", keys, "--listen", "127.0.0.1:0", expect=2)  # others can read it
    shoal("serve", "--tls-cert", folder / "cert.pem", expect=2)
    keys.chmod(0o600)
    (folder / "key.pem").chmod(0o600)
    trust = ssl.create_default_context(cafile=folder / "cert.pem")
    with Server("--keys", keys, "--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem",
                scheme="https") as server:
        connection = http.client.HTTPSConnection(server.host, timeout=TIMEOUT, context=trust)
        body, headers = binary_request([0.5] * PIXELS)
        assert ask(connection, "GET", "/v2/health/live")[0] == 200
        for wrong in ({}, {"Authorization": "Bearer 0123456789abcdeg"}, {"Authorization": "Basic 0123456789abcdef"}):
            for method, path in [("POST", INFER), ("GET", "/v2"), ("GET", "/metrics"), ("GET", "/nothing"),
                                 ("POST", "/v2/repository/models/digits/unload")]:
                assert ask(connection, method, path, b"" if method == "POST" else None, wrong)[0] == 401, (path, wrong)
        assert ask(connection, "POST", INFER, bytes(1 << 20))[0] == 401  # and the connection goes on
        alice = {**headers, "Authorization": "Bearer 0123456789abcdef"}
        first = scores_of(*ask(connection, "POST", INFER, body, alice))[1]
        for _ in range(20):
            assert scores_of(*ask(connection, "POST", INFER, body, alice))[1] == first
        # As many bytes as need several records both ways, and a client that waits for 100 Continue.
        many, headers = binary_request([0.5] * (500 * PIXELS))
        headers["Authorization"] = "Bearer 0123456789abcdef"
        assert near(scores_of(*ask(connection, "POST", INFER, many, headers))[1], first * 500)
        if shutil.which("curl"):
            done = subprocess.run(["curl", "-sS", "--fail", "--cacert", folder / "cert.pem", "-H", "Expect: 100-continue", "-H",
                                   f"Authorization: {alice['Authorization']}", "-d", json.dumps({"inputs": [image()]}),
                                   server.url + INFER], capture_output=True, text=True, timeout=TIMEOUT)
            assert done.returncode == 0 and near(json.loads(done.stdout)["outputs"][0]["data"], first), done
        bob = {**alice, "Authorization": "Bearer fedcba9876543210"}
        for expect in (200, 429):
            for path in ("/metrics", "/v2", "/v2/models/digits/stats"):  # as the page asks for them; they take nothing
                assert ask(connection, "GET", path, None, bob)[0] == 200, path
            status, answer, _ = ask(connection, "POST", INFER, body, bob)
            assert status == expect, (status, expect)
        assert int(answer["Retry-After"]) > 100
        for name, key in (("alice", "0123456789abcdef\n"), ("nobody", "0123456789abcdeg\n")):
            (folder / name).write_text(key)
            (folder / name).chmod(0o600)
        load = ["load", server.url, "--model", "digits", "--clients", "2", "--seconds", "0.1", "--json"]
        trusted = ["--trust", folder / "cert.pem"]
        result = json.loads(shoal(*load, *trusted, "--key", folder / "alice").stdout)
        assert result["answered"] > 0 and result["failed"] == result["refused"] == 0, result
        for wrong in ([*trusted, "--key", folder / "nobody"], trusted, ["--key", folder / "alice"]):
            shoal(*load, *wrong, expect=5)
        status, answer, _ = ask(connection, "GET", "/v2/health/live", None, {"Connection": "close"})
        assert status == 200 and answer["Connection"] == "close"
        with socket.create_connection(server.host.split(":"), timeout=TIMEOUT) as plain:
            plain.sendall(b"GET /v2/health/live HTTP/1.1\r\n\r\n")
            assert b"200" not in plain.recv(4096)


def test_silent_clients_give_way(_):
    with Server("--max-connections", "8") as server:
        silent = [socket.create_connection(server.host.split(":"), timeout=TIMEOUT) for _ in range(40)]
        for one in silent[::2]:
            try:
                one.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nContent-Le")
            except OSError:
                pass  # it has given way already
        for _ in range(5):
            assert server.json("GET", "/v2/health/live") == {"live": True}
        for one in silent:
            one.close()


def test_requests_end_at_their_time(_):
    with Server("--threads", "1") as server:
        late = json.dumps({"inputs": [image()], "parameters": {"timeout": 1}})
        assert server.call("POST", INFER, late)[0] == 504
        assert server.call("POST", INFER, late.replace('"timeout": 1', '"timeout": 60000000'))[0] == 200


def test_drain_answers_what_was_asked(_):
    server = Server()
    connections = [http.client.HTTPConnection(server.host, timeout=TIMEOUT) for _ in range(3)]
    body, headers = binary_request([0.5] * PIXELS)
    for connection in connections:
        scores_of(*ask(connection, "POST", INFER, body, headers))
    # Half a request has come when it is told to end; it comes to its end.
    half = socket.create_connection(server.host.split(":"), timeout=TIMEOUT)
    text = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n".encode()
    half.sendall(text + b"Inference-Header-Content-Length: " + headers["inference-header-content-length"].encode() + b"\r\n\r\n")
    assert half.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
    server.process.terminate()

    def is_draining():
        return ask(connections[0], "GET", "/v2/health/ready")[0] == 400

    wait_for(is_draining)
    half.sendall(body)
    got = b""
    while chunk := half.recv(65536):
        got += chunk
    assert got.startswith(b"HTTP/1.1 200") and b"Connection: close" in got, got[:200]
    assert server.process.wait(timeout=TIMEOUT) == 0
    with server:
        pass


run_tests(globals())
