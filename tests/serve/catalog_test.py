"""shoal serve --catalog and a model with exits, over HTTP: which variant answers, why, and under which budgets.

catalog_test.py SHOAL [PART OF A TEST'S NAME]
"""
import http.client
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from digit_arrays import write_digits  # noqa: E402
from harness import TIMEOUT, Running, run_tests, shoal  # noqa: E402

TASK = """
model = "zoo:digits"
data = "{data}"
format = "npy"
batch = 20
epochs = 1
rate = 0.005
seconds = 0.01
[widths]
count = 3
target = "macs=0.2"
"""


def request(body, *args, path):
    """(status, JSON) of the answer to a request, by a server that ends afterwards."""
    with Running("serve", "--listen", "127.0.0.1:0", "--tune", "off", "--max-batch", 4, *args) as server:
        line = server.line()
        assert line.startswith("ready http://"), line + server.process.stderr.read()
        return ask(line, body, path)


def ask(line, body, path):
    connection = http.client.HTTPConnection(line.split()[1].removeprefix("http://"), timeout=TIMEOUT)
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
    answer = connection.getresponse()
    result = answer.status, json.loads(answer.read())
    connection.close()
    return result


def infer(wish=None):
    image = {"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": [0.5] * 784}
    return {"inputs": [image], **({"parameters": wish} if wish else {})}


def asks_the_cloud(folder, joules):
    """Another server answers while it is there, since that takes next to no energy; afterwards this one does."""
    serve = "serve", "--listen", "127.0.0.1:0", "--tune", "off", "--max-batch", 2, "--catalog", folder
    with Running(*serve) as cloud:
        url = cloud.line().split()[1]
        with Running(*serve, "--budget", f"energy={joules:.9f},day=24,requests=4", "--cloud", url, "--cloud-costs",
                     "radio=0.000001,mbit=1000", "--remote-timeout", 20000) as server:
            line = server.line()
            assert line.startswith("ready http://"), line + server.process.stderr.read()
            for _ in range(20):
                status, answer = ask(line, infer(), "/v2/models/ten/infer")
                assert status == 200 and answer["parameters"]["place"] == "cloud", answer
            cloud.process.kill()
            cloud.process.wait()
            status, here = ask(line, infer(), "/v2/models/ten/infer")
            assert status == 200 and "place" not in here["parameters"], here
            decisions = ask(line, None, "/v2/catalog")[1]["decisions"]
            assert any("no answer came" in one for one in decisions) and "no link" in decisions[-1], decisions[-2:]
    shoal("serve", "--catalog", folder, "--cloud", "ftp://nowhere", "--cloud-costs", "price=much", expect=2)


def test_a_catalog_is_a_model_under_budgets(tmp):
    data, folder, log = tmp / "data", tmp / "ten", tmp / "log"
    data.mkdir()
    write_digits(data)
    (tmp / "task.toml").write_text(TASK.format(data=data))
    built = json.loads(shoal("catalog", "build", tmp / "task.toml", "-o", folder, "--json").stdout.splitlines()[-1])
    variants = {one["name"]: one for one in built["variants"]}
    assert len(variants) > 1, built
    most = max(one["memory"] for one in variants.values())
    joules = 1e-3 * (2.5 * max(one["millijoules"] for one in variants.values()))
    budget = f"energy={joules:.9f},memory={1.01e-6 * most:.6f},day=24,requests=4"
    with Running("serve", "--listen", "127.0.0.1:0", "--tune", "off", "--max-batch", 2, "--catalog", folder, "--budget", budget,
                 "--decision-log", log) as server:
        line = server.line()
        assert line.startswith("ready http://"), line + server.process.stderr.read()
        assert ask(line, None, "/v2/models/ten")[1]["inputs"][0]["name"] == "image"
        spent, refused = 0.0, None
        for number in range(1, 200):
            status, answer = ask(line, infer(), "/v2/models/ten/infer")
            if status != 200:
                refused = status, answer
                break
            assert answer["model_name"] == "ten" and answer["parameters"]["decision"] == str(number), answer
            spent += 1e-3 * variants[answer["parameters"]["variant"]]["millijoules"]
        assert refused and refused[0] == 429 and "over budget" in refused[1]["error"], refused
        assert 0 < spent <= joules, (spent, joules)
        state = ask(line, None, "/v2/catalog")[1]
        assert abs(state["budgets"]["joules_left"] - (joules - spent)) < 1e-9, (state["budgets"], spent)
        assert state["budgets"]["bytes_used"] <= state["budgets"]["bytes"], state["budgets"]
        assert sum(one["answers"] for one in state["tasks"][0]["variants"]) == number - 1
        assert log.read_text().splitlines() == state["decisions"] and len(state["decisions"]) == number
        # A variant is a model of its own, where it is in memory.
        loaded = [one["name"] for one in state["tasks"][0]["variants"] if one["in_memory"]]
        assert ask(line, infer(), f"/v2/models/ten.{loaded[0]}/infer")[0] == 200
    asks_the_cloud(folder, joules)
    status, answer = request(infer({"accuracy": 1.0, "latency_ms": 1e-6}), "--catalog", folder, path="/v2/models/ten/infer")
    assert status == 400 and ("too rough" in answer["error"] or "too slow" in answer["error"]), answer
    shoal("serve", "--catalog", folder, "--budget", "energy=much", expect=2)
    shoal("serve", "--catalog", data, expect=2)


def test_requests_wish_for_exits(tmp):
    data = tmp / "data"
    data.mkdir()
    write_digits(data)
    shoal("exits", "zoo:digits", "--data", data, "--format", "npy", "--batch", 20, "--epochs", 1, "--at", "auto:2", "-o",
          tmp / "multi.onnx")
    with Running("serve", tmp / "multi.onnx", "--listen", "127.0.0.1:0", "--tune", "off", "--max-batch", 4) as server:
        line = server.line()
        path = "/v2/models/multi/infer"
        whole = ask(line, infer(), path)[1]["outputs"]
        assert len(whole) == 3, whole
        for exit, output in (1, whole[1]), (2, whole[2]), (3, whole[0]):
            status, answer = ask(line, infer({"exit": exit}), path)
            assert status == 200 and answer["parameters"] == {"exit": str(exit)} and len(answer["outputs"]) == 1, answer
            assert np.allclose(answer["outputs"][0]["data"], output["data"], rtol=1e-5, atol=1e-5), (exit, answer)
        assert ask(line, infer({"confidence": 0}), path)[1]["parameters"] == {"exit": "1"}
        assert ask(line, infer({"exit": 0}), path)[0] == 400


run_tests(globals())
