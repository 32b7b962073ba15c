#!/usr/bin/python3
"""The same of commands that plan for, emulate or use several devices: cluster_cli_test.py SHOAL [PART OF A NAME]"""
import json
import re
import shutil
import signal
import socket
import subprocess

import numpy as np

from digit_arrays import write_digits
from harness import SHOAL, TIMEOUT, Running, run_tests, shoal, wait_for


def emulate_digits(dilation, *flags):
    return subprocess.run([SHOAL, "emulate", "--workers", "3", "--device", "nexus5x", "--link", "ethernet-100",
                           "--dilate", str(dilation), "--", "bench", "zoo:digits", "--cluster", "--seconds", "0",
                           "--json", *flags], capture_output=True, text=True, timeout=TIMEOUT)


def test_emulated_devices_answer_as_predicted(tmp):
    done = emulate_digits(50, "--split", "rows", "--html", str(tmp / "times.html"))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["dilation"] >= 50 and result["lateness"] >= 0, result
    assert ("measured again" in done.stderr) or result["dilation"] == 50, done.stderr
    simulated = json.loads(shoal("simulate", "zoo:digits", "--workers", 3, "--device", "nexus5x", "--link", "ethernet-100",
                                 "--split", "rows", "--json").stdout)
    for field in ("plan", "predicted_ms", "halo_bytes", "wire_bytes"):
        assert result[field] == simulated[field], field
    assert abs(result["speedup"] * result["cluster_ms"] / result["single_ms"] - 1) < 1e-9
    # Devices and links take their time, whatever else this machine does.
    assert result["single_ms"] >= 0.9 * simulated["single_ms"]
    assert result["cluster_ms"] >= 0.9 * simulated["cluster_ms"]
    # They take no longer, but for what the run itself says that this machine was late: on a busy one
    # that may be any share, and then it must be said.
    late_ms = result["lateness"] * result["cluster_ms"]
    assert result["lateness"] <= 0.05 or "this machine is busy" in done.stderr, (result, done.stderr)
    for measured, predicted in zip(result["workers"], simulated["workers"], strict=True):
        assert 0.99 * predicted["compute_ms"] <= measured["compute_ms"] <= predicted["compute_ms"] + late_ms + 1e-6
        assert measured["transfer_ms"] > 0
    # Links are not part of the lateness, so they get some leave.
    if result["lateness"] <= 0.05:
        assert result["single_ms"] <= 3 * simulated["single_ms"], result
        assert result["cluster_ms"] <= 3 * simulated["cluster_ms"], result
    assert "<svg" in (tmp / "times.html").read_text()


def test_a_machine_that_is_too_busy_to_emulate_goes_slower_or_says_so(_):
    # A thousand times as fast as the devices are: nobody can be that.
    done = emulate_digits(0.001, "--split", "rows")
    assert done.returncode == 0 and "measured again" in done.stderr, done.stderr
    result = json.loads(done.stdout)
    assert 0.001 < result["dilation"] <= 0.032, result
    assert ("too long" in done.stderr) == (result["lateness"] > 0.05), (result, done.stderr)
    strict = emulate_digits(0.001, "--split", "rows", "--strict")
    assert strict.returncode == 8 and "too busy" in strict.stderr and not strict.stdout, strict.stderr


def test_work_moves_from_the_slowest_to_the_idle(_):
    balance = ["bench", "zoo:digits", "--cluster", "--balance", "--json"]
    emulate = ["emulate", "--workers", 3, "--device", "pi3", "--link", "gigabit", "--"]
    for survive in [], ["--survive", 1]:
        done = shoal(*emulate, *balance, "--objective", "throughput", *survive)
        result = json.loads(done.stdout)
        assert result["moves"] == len(result["steps"]) - 1 <= 25, result
        assert result["before_ms"] == result["steps"][0]["ms"] > 0, result
        assert result["after_ms"] == result["steps"][-1]["ms"] > 0, result
    assert "--objective throughput" in shoal(*balance, expect=2).stderr


def test_streams_have_a_worker_each_and_answer_as_one_machine_does(tmp):
    def boxes(file):
        lines = map(json.loads, (tmp / file).read_text().splitlines())
        return sorted((line["frame"], json.dumps([round(box["x"]) for box in line["boxes"]])) for line in lines)

    watch = ["watch", "zoo:scene", "zoo:scene", "--frames", 5, "--json", "--jsonl"]
    result = json.loads(shoal("emulate", "--workers", 2, "--dilate", 1, "--", *watch, tmp / "a", "--cluster").stdout)
    assert {one["place"]["network"] for one in result["sources"]} == {"pi4-0", "pi4-1"}
    assert all(one["place"]["optimal"] and one["place"]["expected_fps"] > 0 for one in result["sources"])
    shoal(*watch, tmp / "b")
    assert boxes("a") == boxes("b")
    for flags in ["--place", "whole"], ["--place", "whole", "--cluster", "--survive", 1]:
        assert "--place" in shoal("watch", "zoo:scene", *flags, expect=2).stderr


def test_weights_travel_over_emulated_links_if_that_is_asked_for(_):
    bench = ["bench", "zoo:lenet5", "--cluster", "--while-deploying", "zoo:squeezenet", "--seconds", 0.2, "--json"]
    emulate = ["emulate", "--workers", 2, "--device", "pi4", "--link", "wifi-43.8", "--dilate", 1]
    result = json.loads(shoal(*emulate, "--real-deploy", "--", *bench).stdout)
    assert result["weight_bytes"] > 4e6 and 0 <= result["sent_again"] < 0.1, result
    assert result["link_use"] <= 1.05 and result["deploying"]["requests"] > 0, result


def test_devices_that_learn_together_are_reported(tmp):
    write_digits(tmp)
    words = ["train", "zoo:mlp", "--data", tmp, "--format", "npy", "--cluster", "--all-workers", "--steps", 24,
             "--batch", 32, "--report", tmp / "page.html", "--json"]
    done = shoal("emulate", "--workers", 3, "--device", "pi4", "--link", "gigabit", "--dilate", 1, "--", *words)
    assert "\033" not in done.stderr, done.stderr
    devices = (result := json.loads(done.stdout.splitlines()[-1]))["devices"]
    assert len(devices) == 3 and abs(sum(one["share"] for one in devices) - 1) < 1e-9, devices
    for one in devices:
        assert one["state"] == "working" and one["steps_late"] == 0 and one["examples_per_s"] > 0, one
    text = (tmp / "page.html").read_text()
    for part in ("<polyline", "<polygon", "top-1, %", "one device alone", *(f"<td>{one['name']}</td>" for one in devices)):
        assert part in text, part
    assert f'{result["top1"]:.2f}' in text


def test_emulation_says_what_is_wrong(_):
    assert "no device" in shoal("emulate", "--device", "toaster", "--", "doctor", expect=2).stderr
    shoal("emulate", "--workers", 1, "--", "inspect", "nothing.onnx", expect=3)


def test_an_environment_that_makes_no_sense_is_refused(tmp):
    shoal("cluster", "init", "--dir", tmp)
    shoal("cluster", "add", "kitchen", "127.0.0.1:1", "--dir", tmp)
    env = {"SHOAL_CLUSTER_DIR": str(tmp), "SHOAL_EMULATE_DILATION": "fast"}
    assert "--dilate: it is from 0.001" in shoal("run", "zoo:lenet5", "--cluster", env=env, expect=2).stderr


def test_emulation_leaves_nothing_behind_whenever_it_is_ended(tmp):
    with Running("emulate", "--workers", 2, "--", "bench", "zoo:lenet5", "--cluster", "--seconds", 3600,
                 env={"TMPDIR": str(tmp)}) as emulation:
        wait_for(lambda: list(tmp.iterdir()))  # no worker is ready so soon
    assert emulation.process.returncode != 0 and not list(tmp.iterdir())


def test_a_device_joins_by_a_token_once(tmp):
    shoal("cluster", "init", "--dir", tmp / "c")
    shoal("cluster", "init", "--dir", tmp / "c", expect=2)
    assert "no cluster" in shoal("worker", "--dir", tmp / "w", expect=6).stderr
    assert "no device abacus" in shoal("worker", "--dir", tmp / "w", "--device", "abacus", expect=2).stderr
    with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0") as invite:
        token = invite.line()
        join = ["--listen", "127.0.0.1:0", "--join", token]
        with Running("worker", "--dir", tmp / "w", "--name", "kitchen", *join) as worker:
            assert re.fullmatch(r"ready kitchen 127\.0\.0\.1:\d+", worker.line())
            assert invite.process.wait(timeout=TIMEOUT) == 0
        assert worker.process.returncode == 0
        with Running("worker", "--dir", tmp / "w", *join) as again:
            assert again.line().startswith("ready kitchen "), "a token that was used here is no mistake"
        shoal("cluster", "init", "--dir", tmp / "other")
        with Running("cluster", "invite", "--dir", tmp / "other", "--listen", "127.0.0.1:0") as other:
            done = shoal("worker", "--dir", tmp / "w", "--join", other.line(), expect=6)
            assert "of another" in done.stderr, done.stderr
        assert shoal("worker", "--dir", tmp / "w2", *join, expect=5).stderr
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(tmp / "notify"))
        supervisor.settimeout(TIMEOUT)
        with Running("worker", "--dir", tmp / "w", "--listen", "127.0.0.1:0", env={"NOTIFY_SOCKET": str(tmp / "notify")}):
            assert supervisor.recv(100) == b"READY=1"
        assert supervisor.recv(100) == b"STOPPING=1"


def test_a_token_need_not_be_on_the_command_line(tmp):
    shoal("cluster", "init", "--dir", tmp / "c")
    for name in "file", "environment":
        with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0") as invite:
            token = invite.line()
            (tmp / "token").write_text(token + "\n")
            flags = ["--join-file", tmp / "token"] if name == "file" else []
            env = {} if name == "file" else {"SHOAL_TOKEN": token}
            with Running("worker", "--dir", tmp / name, "--name", name, "--listen", "127.0.0.1:0", *flags, env=env) as worker:
                assert worker.line().startswith(f"ready {name} "), name
    (tmp / "token").write_text("")
    with Running("worker", "--dir", tmp / "file", "--listen", "127.0.0.1:0", "--join-file", tmp / "token") as again:
        assert again.line().startswith("ready file "), "who has joined needs none"
    (tmp / "file" / "key.pem").chmod(0o644)
    assert "by others" in shoal("worker", "--dir", tmp / "file", "--listen", "127.0.0.1:0", expect=6).stderr


def test_a_removed_device_is_refused_and_its_name_is_free(tmp):
    with Cluster(tmp) as cluster:
        def members():
            return json.loads(shoal("cluster", "status", "--json", env=cluster.env).stdout)["members"]
        before = {member["name"]: member for member in members()}
        assert {name: member["role"] for name, member in before.items()} == \
            {"coordinator": "owner", "kitchen": "worker", "hall": "worker"}, before
        assert not any(member["revoked"] for member in before.values())
        assert "renewed: kitchen" in shoal("cluster", "renew", "kitchen", env=cluster.env).stdout
        assert next(m for m in members() if m["name"] == "kitchen")["expires"] >= before["kitchen"]["expires"]
        address = next(device["address"] for device in cluster.devices() if device["name"] == "kitchen")
        shoal("cluster", "remove", "kitchen", env=cluster.env)
        assert [(m["name"], m["revoked"]) for m in members()] == [("coordinator", False), ("hall", False), ("kitchen", True)]
        shoal("cluster", "add", "kitchen", address, env=cluster.env)
        refused = shoal("devices", env=cluster.env, expect=10).stderr
        assert "kitchen" in refused and "was removed" in refused, refused
        with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0") as invite:
            with Running("worker", "--dir", tmp / "new", "--name", "kitchen", "--listen", "127.0.0.1:0",
                         env={"SHOAL_TOKEN": invite.line()}) as worker:
                assert worker.line().startswith("ready kitchen "), "the name is free again"
    assert "removed" in shoal("cluster", "status", env=cluster.env).stdout


def test_others_coordinate_by_a_token(tmp):
    shoal("cluster", "init", "--dir", tmp / "c")
    with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0", "--role", "coordinator") as invite:
        env = {"SHOAL_TOKEN": invite.line()}
        assert "desk, coordinator" in shoal("cluster", "join", "desk", "--dir", tmp / "d", env=env).stdout
    roles = {m["name"]: m["role"] for m in json.loads(shoal("cluster", "status", "--dir", tmp / "c", "--json").stdout)["members"]}
    assert roles == {"coordinator": "owner", "desk": "coordinator"}, roles
    assert "--role" in shoal("cluster", "invite", "--dir", tmp / "c", "--role", "owner", expect=2).stderr


def test_an_invitation_that_is_stopped_is_no_timeout(tmp):
    shoal("cluster", "init", "--dir", tmp / "c")
    with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0") as invite:
        assert invite.line(), "a token"
        invite.process.send_signal(signal.SIGINT)
        assert invite.process.wait(timeout=TIMEOUT) == 130


def test_devices_says_who_is_there_and_who_is_not(tmp):
    assert "no cluster" in shoal("devices", "--dir", tmp / "c", expect=2).stderr
    for command in ["bench", "zoo:lenet5", "--cluster"], ["run", "--cluster"]:
        done = shoal(*command, env={"SHOAL_CLUSTER_DIR": str(tmp / "c")}, expect=2)
        assert "no cluster" in done.stderr, done.stderr
    shoal("cluster", "init", "--dir", tmp / "c")
    with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0") as invite:
        join = ["--listen", "127.0.0.1:0", "--threads", 1, "--join", invite.line()]
        with Running("worker", "--dir", tmp / "w", "--name", "kitchen", *join) as worker:
            address = worker.line().split()[2]
            shoal("cluster", "add", "kitchen", address, "--dir", tmp / "c")
            device, = json.loads(shoal("devices", "--dir", tmp / "c", "--json").stdout)
            assert device["health"] == "ok" and device["threads"] == 1, device
            assert device["gmac_per_s"] > 0 and device["mbit_per_s"] > 0 and device["latency_ms"] > 0, device
            shoal("cluster", "add", "hall", address, "--dir", tmp / "c")
            wrong = shoal("devices", "--dir", tmp / "c", expect=10)
            assert "worker hall" in wrong.stderr and "is kitchen, not hall" in wrong.stderr, wrong.stderr
    gone = shoal("devices", "--dir", tmp / "c", expect=10)
    assert "worker hall" in gone.stderr and "refused" in gone.stderr, gone.stderr


class Cluster:
    """Workers on this machine."""

    def __init__(self, tmp, names=("kitchen", "hall"), flags=lambda name: ()):
        self.env = {"SHOAL_CLUSTER_DIR": str(tmp / "c"), "XDG_CACHE_HOME": str(tmp / "cache")}
        self.workers = []
        shoal("cluster", "init", env=self.env)
        for name in names:
            with Running("cluster", "invite", "--dir", tmp / "c", "--listen", "127.0.0.1:0") as invite:
                worker = Running("worker", "--dir", tmp / name, "--name", name, "--listen", "127.0.0.1:0",
                                 "--threads", 1, "--store", tmp / name / "store", "--join", invite.line(), *flags(name))
                self.workers.append(worker)
                shoal("cluster", "add", name, worker.line().split()[2], env=self.env)

    def devices(self):
        return json.loads(shoal("devices", "--json", env=self.env).stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.__exit__()


def test_a_cluster_answers_as_one_device_does(tmp):
    x = np.random.default_rng(1).standard_normal((1, 1, 28, 28)).astype(np.float32)
    np.save(tmp / "x.npy", x)
    shoal("zoo", "lenet5", "-o", tmp / "m.onnx")
    shoal("run", tmp / "m.onnx", "--input", tmp / "x.npy", "--save", tmp / "one")
    with Cluster(tmp) as cluster:
        for split in "any", "rows", "grid":
            shoal("run", tmp / "m.onnx", "--input", tmp / "x.npy", "--save", tmp / split, "--cluster", "--split", split,
                  env=cluster.env)
            for file in (tmp / "one").iterdir():
                one, many = np.load(file), np.load(tmp / split / file.name)
                assert np.abs(one - many).max() <= 1e-4 * np.abs(one).max(), split
        assert all(list((tmp / name / "store").iterdir()) for name in ("kitchen", "hall")), "weights are kept"
        profile, _ = (tmp / "cache" / "shoal").glob("profile-*")  # one for each worker
        plan, *_ = (tmp / "cache" / "shoal").glob("plan-*")
        measured, planned = profile.read_bytes(), plan.read_bytes()
        again = ["run", tmp / "m.onnx", "--input", tmp / "x.npy", "--save", tmp / "again", "--cluster"]
        shoal(*again, env=cluster.env)
        assert profile.read_bytes() == measured and plan.read_bytes() == planned, "they are used while they are good"
        for damaged in measured.replace(b"Conv", b"Curv"), b"{}", b"":
            profile.write_bytes(damaged)
            shoal(*again, env=cluster.env)
            assert profile.read_bytes() != damaged, "what is damaged is not believed"
        done = shoal("profile", tmp / "m.onnx", "--device", "cluster", env=cluster.env, expect=4)
        assert "cluster: this device does not tell" in done.stderr and not done.stdout, done.stderr
        cluster.workers[1].process.kill()
        cluster.workers[1].process.wait()
        done = shoal("run", tmp / "m.onnx", "--input", tmp / "x.npy", "--save", tmp / "alone", "--cluster", env=cluster.env)
        assert "left out: worker hall" in done.stderr, done.stderr


def test_workers_learn_from_data_that_stays_with_them(tmp):
    (tmp / "data").mkdir()
    write_digits(tmp / "data")
    own = {"a": (), "b": (), "c": (), "d": ("--secure-only",)}
    data = ("--data", tmp / "data", "--format", "npy")
    with Cluster(tmp, (*own, "idle"), lambda name: (*data, *own[name]) if name in own else ()) as cluster:
        def train(*flags, expect=0):
            return shoal("train", "zoo:logistic", "--federated", "--cluster", "--rounds", 2, "--local-epochs", 1,
                         "--json", *flags, env=cluster.env, expect=expect)
        done = train("-o", tmp / "m.onnx", *data)
        assert "worker idle" in done.stderr and "started without data" in done.stderr, done.stderr
        assert "worker d" in done.stderr and "secure sums only" in done.stderr, done.stderr
        result = json.loads(done.stdout)
        assert result["rounds"] == 2 and result["reported"] == 6 and result["workers_lost"] == 2, result
        seen = json.loads(shoal("eval", tmp / "m.onnx", *data, "--json").stdout)
        assert seen["top1"] == result["top1"], (seen, result)
        secret = json.loads(train("--secure-sum").stdout)  # without data here, nothing is evaluated
        assert secret["reported"] == 8 and secret["top1"] is None, secret
        assert 1 < secret["secure_traffic"] < 1.15 and abs(secret["loss"] - result["loss"]) < 0.1, (secret, result)
        assert "median" in train("--secure-sum", "--strategy", "median", expect=2).stderr
        assert "clients is for simulated" in train("--clients", 7, expect=2).stderr
        cluster.workers[0].process.kill()
        cluster.workers[0].process.wait()
        assert json.loads(train().stdout)["reported"] == 4


def test_devices_of_one_machine_are_workers(_):
    assert shoal("run", "zoo:digits", "--device", "board:cpu+reference").stdout == shoal("run", "zoo:digits").stdout
    board = "board:cpu+slow:3:cpu"
    planned = json.loads(shoal("plan", "zoo:digits", "--device", board, "--objective", "throughput", "--json").stdout)
    result = json.loads(shoal("bench", "zoo:digits", "--cluster=" + board, "--objective", "throughput", "--json").stdout)
    for object in planned, result:
        assert [worker["name"] for worker in object["workers"]] == ["cpu", "slow:3:cpu"], object
    assert result["cluster_ms"] > 0 and result["speedup"] > 0, result
    assert "cpu twice" in shoal("run", "zoo:digits", "--device", "board:cpu+cpu", expect=4).stderr
    assert "board:DEVICE" in shoal("bench", "zoo:digits", "--cluster=boat", expect=2).stderr


def test_who_goes_away_in_the_middle_is_named_and_leaves_nobody_busy(tmp):
    with Cluster(tmp) as cluster:
        def tasks():
            return sum(device["tasks"] for device in cluster.devices())

        def wait_until_busy(running):
            before = tasks()
            wait_for(lambda: running.process.poll() is not None or tasks() > before)
            assert running.process.poll() is None, running.process.communicate()

        bench = ["bench", "zoo:lenet5", "--cluster", "--split", "rows", "--seconds", 3600]
        with Running(*bench, env=cluster.env) as running:
            wait_until_busy(running)
            running.process.send_signal(signal.SIGINT)
            assert running.process.wait(timeout=TIMEOUT) == -signal.SIGINT
        wait_for(lambda: not any(device["plans"] for device in cluster.devices()))
        with Running(*bench[:-1], 8, "--json", env=cluster.env) as running:
            wait_until_busy(running)
            cluster.workers[1].process.kill()
            output, errors = running.process.communicate(timeout=TIMEOUT)
            assert running.process.returncode == 0 and "measured again without hall" in errors, errors
            assert json.loads(output)["workers"][1]["compute_ms"] == 0, output


def test_who_is_exclusive_takes_over_from_whoever_was(tmp):
    with Cluster(tmp) as cluster:
        run = ["run", "zoo:lenet5", "--cluster", "--exclusive", "--json"]
        np.save(tmp / "x.npy", np.zeros((1, 1, 28, 28), np.float32))
        run += ["--input", tmp / "x.npy"]
        shutil.copytree(tmp / "c", tmp / "copy")  # it counts the same epochs
        bench = ["bench", "zoo:lenet5", "--cluster", "--exclusive", "--split", "rows", "--seconds", 3600]
        with Running(*bench, env=cluster.env) as running:
            wait_for(lambda: running.process.poll() is not None
                     or all(device["plans"] for device in cluster.devices()))
            assert running.process.poll() is None, running.process.communicate()
            shoal(*run, env={**cluster.env, "SHOAL_CLUSTER_DIR": str(tmp / "copy")})
            _, errors = running.process.communicate(timeout=TIMEOUT)
            assert running.process.returncode == 5, errors
        shoal(*run, env=cluster.env)
    assert "--exclusive" in shoal("run", "zoo:lenet5", "--exclusive", expect=2).stderr


def test_a_worker_may_be_lost_in_the_middle_of_a_request(tmp):
    x = np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)
    np.save(tmp / "x.npy", x)
    shoal("zoo", "resnet18", "-o", tmp / "m.onnx")
    run = ["run", tmp / "m.onnx", "--input", tmp / "x.npy", "--save"]
    shoal(*run, tmp / "one")

    def check(folder):
        for file in (tmp / "one").iterdir():
            one, many = np.load(file), np.load(folder / file.name)
            assert np.abs(one - many).max() <= 1e-4 * np.abs(one).max(), folder

    with Cluster(tmp, ("kitchen", "hall", "attic")) as cluster:
        survive = ["--cluster", "--split", "channels", "--survive", 1]
        shoal(*run, tmp / "all", *survive, env=cluster.env)
        check(tmp / "all")
        before = sum(device["tasks"] for device in cluster.devices())
        with Running(*run, tmp / "two", *survive, env=cluster.env) as running:
            wait_for(lambda: running.process.poll() is not None
                     or sum(device["tasks"] for device in cluster.devices()) > before)
            cluster.workers[2].process.kill()
            _, errors = running.process.communicate(timeout=TIMEOUT)
            assert running.process.returncode == 0, errors
            assert "replayed" not in errors, "parities answer, not another try"
        check(tmp / "two")


def test_survival_has_a_price(_):
    flags = ["zoo:lenet5", "--workers", 5, "--survive", 1]
    plan = json.loads(shoal("plan", *flags, "--json").stdout)
    assert plan["survive"] == 1 and plan["price"]["compute"] > 1 and plan["price"]["repeated_compute"] == 2, plan
    assert "survives the loss of 1" in shoal("plan", *flags).stdout
    stream = json.loads(shoal("plan", *flags, "--objective", "throughput", "--json").stdout)
    assert stream["survive"] == 1 and "survives the loss of 1" in shoal("plan", *flags, "--objective", "throughput").stdout
    late = json.loads(shoal("simulate", *flags, "--stragglers", 10, "--json").stdout)
    assert late["mean_ms"] <= late["waiting_mean_ms"] and late["p99_ms"] <= late["waiting_p99_ms"], late
    for flag in ["--survive", 3], ["--wait", 5]:
        shoal("plan", "zoo:lenet5", *flag, expect=2)


def test_two_models_share_workers(_):
    flags = ["plan", "zoo:lenet5", "--with", "zoo:mlp", "--rates", "5,2", "--workers", 2, "--device", "pi4", "--link", "gigabit"]
    result = json.loads(shoal(*flags, "--json").stdout)
    assert [model["model"] for model in result["models"]] == ["zoo:lenet5", "zoo:mlp"]
    for model in result["models"]:
        assert abs(model["predicted_ms"] / model["alone_ms"] - model["slowdown"]) < 1e-6, model
        assert model["slowdown"] <= result["largest_slowdown"]
    for worker in result["workers"]:
        assert 0 <= sum(worker["busy"]) <= 1
    assert "zoo:mlp" in shoal(*flags).stdout
    assert "2 models, and 1 rates" in shoal(*flags[:4], "--rates", "5", expect=2).stderr
    assert "time or memory" in shoal(*flags[:4], "--rates", "5,1e9", expect=8).stderr


def test_simulated_day_follows_from_its_seed(_):
    flags = ["simulate", "zoo:lenet5", "--workers", 20, "--day", "--hours", 2, "--rate", 2, "--losses", 50, "--json"]
    once, again, other = (json.loads(shoal(*flags, "--seed", seed).stdout) for seed in (1, 1, 2))
    assert once["hash"] == again["hash"] != other["hash"]
    assert once["teams"] == 3 and once["losses"] > 0
    assert once["answered"] + once["refused"] + once["failed"] == once["requests"]


def test_simulated_faults_break_no_promise(_):
    result = json.loads(shoal("chaos", "--sim", "--histories", 200, "--seed", 7, "--json").stdout)
    assert result["histories"] == 200 and result["violations"] == 0 and result["first_bad_seed"] == -1, result
    assert result["answered"] + result["failed"] == result["requests"], result


def test_workers_are_killed_and_every_request_is_answered(_):
    assert "takes 2 workers" in shoal("chaos", "--workers", 1, "--survive", 1, expect=2).stderr
    assert "--verify" in shoal("chaos", "--survive", 0, "--verify", 10, expect=2).stderr
    assert "nothing.onnx" in shoal("chaos", "--model", "nothing.onnx", expect=3).stderr
    result = json.loads(shoal("chaos", "--workers", 3, "--survive", 1, "--kills", 2, "--requests", 20, "--model",
                              "zoo:lenet5", "--json").stdout)
    assert result["answered"] == 20 and result["failed"] == result["wrong"] == result["resent_to_dead"] == 0, result


def test_overload_is_refused_and_the_rest_is_answered(_):
    assert "--overload" in shoal("chaos", "--clients", 5, expect=2).stderr
    result = json.loads(shoal("chaos", "--workers", 2, "--survive", 1, "--overload", 4, "--clients", 40, "--seconds", 1,
                              "--model", "zoo:lenet5", "--json").stdout)
    assert result["answered"] > 0 and result["refused"] > 0 and result["failed"] == result["wrong"] == 0, result
    assert {"goodput", "refusal_ms_p99", "recovery_s", "late", "capacity_per_s", "p99_ms"} <= result.keys(), result


def test_ways_between_workers_fail_and_every_request_is_answered(tmp):
    for flag in ["--at", "nowhere"], ["--dilate", 2], ["--emulate", "nothing.toml"]:
        assert flag[0] in shoal("chaos", *flag, expect=2).stderr, flag
    (tmp / "two.toml").write_text('[coordinator]\nlink = "gigabit"\n[[worker]]\ndevice = "pi4"\n'
                                  'link = "gigabit"\ncount = 2\n')
    assert "takes 3 workers" in shoal("chaos", "--emulate", tmp / "two.toml", "--survive", 2, expect=2).stderr
    kinds = []
    for cluster in ["--workers", 3], ["--emulate", tmp / "two.toml", "--dilate", 1]:
        result = json.loads(shoal("chaos", *cluster, "--survive", 1, "--partitions", 1, "--delays", 1, "--breaks", 1,
                                  "--corruptions", 1, "--requests", 20, "--model", "zoo:lenet5", "--json").stdout)
        assert result["answered"] == 20 and result["failed"] == result["wrong"] == 0, result
        assert result["faults"] == sum(result["kinds"].values()) == 4, result
        kinds.append(result["kinds"])
    assert kinds[0] == kinds[1], "one seed, one sequence"
    pinned = json.loads(shoal("chaos", "--workers", 3, "--kills", 0, "--breaks", 2, "--at", "submitted", "--requests", 10,
                              "--model", "zoo:lenet5", "--json").stdout)
    assert pinned["answered"] == 10 and pinned["at_points"] > 0, pinned


def test_a_smaller_model_answers_where_no_worker_does(tmp):
    shoal("zoo", "lenet5", "-o", tmp / "m.onnx")
    shoal("cluster", "init", "--dir", tmp / "c")
    shoal("cluster", "add", "gone", "127.0.0.1:1", "--dir", tmp / "c")
    np.save(tmp / "x.npy", np.zeros((1, 1, 28, 28), np.float32))
    run = ["run", tmp / "m.onnx", "--input", tmp / "x.npy", "--cluster", "--json"]
    env = {"SHOAL_CLUSTER_DIR": str(tmp / "c")}
    shoal(*run, env=env, expect=5)
    done = shoal(*run, "--fallback", tmp / "m.onnx", env=env, expect=10)
    assert "gone" in json.loads(done.stdout)["degraded"], done.stdout


def test_a_smaller_model_answers_where_no_worker_has_memory(tmp):
    shoal("zoo", "lenet5", "-o", tmp / "m.onnx")
    np.save(tmp / "x.npy", np.zeros((1, 1, 28, 28), np.float32))
    (tmp / "small.toml").write_text('[[worker]]\ndevice = "pi4"\nlink = "gigabit"\nmemory_mb = 0.01\ncount = 2\n')
    run = ["emulate", tmp / "small.toml", "--", "run", tmp / "m.onnx", "--input", tmp / "x.npy", "--cluster", "--json"]
    assert "memory" in shoal(*run, expect=3).stderr
    done = shoal(*run, "--fallback", tmp / "m.onnx", expect=10)
    assert "memory" in json.loads(done.stdout)["degraded"], done.stdout
    absent = ["emulate", tmp / "small.toml", "--", "run", tmp / "absent.onnx", "--cluster", "--fallback", tmp / "m.onnx"]
    assert "absent.onnx" in shoal(*absent, expect=3).stderr


def test_the_list_of_workers_is_checked(tmp):
    shoal("cluster", "add", "kitchen", "127.0.0.1:7070", "--dir", tmp)
    shoal("cluster", "add", "../kitchen", "127.0.0.1:7070", "--dir", tmp, expect=2)
    shoal("cluster", "add", "hall", "nowhere", "--dir", tmp, expect=2)
    assert "kitchen" in shoal("cluster", "list", "--dir", tmp).stdout
    shoal("cluster", "remove", "kitchen", "--dir", tmp)
    shoal("cluster", "remove", "kitchen", "--dir", tmp, expect=2)


NEXUS = ["--device", "nexus5", "--link", "wifi-43.8"]


def test_a_plan_says_what_it_brings_and_why_others_lose(tmp):
    plan = json.loads(shoal("plan", "zoo:vgg16", "--workers", 4, *NEXUS, "--json").stdout)
    assert plan["speedup"] > 3.04 and abs(plan["single_ms"] / plan["predicted_ms"] - plan["speedup"]) < 1e-9
    assert len(plan["workers"]) == 4 and all(w["compute_ms"] > 0 for w in plan["workers"])
    assert len(plan["alternatives"]) == 2 and all("computes" in other["why_slower"] for other in plan["alternatives"])
    assert all(other["predicted_ms"] >= plan["predicted_ms"] for other in plan["alternatives"])
    text = shoal("plan", "zoo:digits", "--workers", 2, *NEXUS, "--html", tmp / "p.html", "--svg", tmp / "p.svg").stdout
    assert "More devices do not help" in text, text
    assert "<svg" in (tmp / "p.html").read_text() and (tmp / "p.svg").read_text().startswith("<svg")


def test_streams_keep_all_workers_busy(tmp):
    for split in "any", "stages", "replicas":
        flags = ["zoo:resnet50", "--workers", 4, "--objective", "throughput", "--split", split, "--json"]
        stream = json.loads(shoal("simulate", *flags).stdout)
        assert stream["speedup"] > 3.5 and len(stream["workers"]) == 4, stream
        assert json.loads(shoal("plan", *flags).stdout) == stream
    shoal("plan", "zoo:lenet5", "--objective", "throughput", "--workers", 2, "--split", "stages", "--html", tmp / "p.html")
    page = (tmp / "p.html").read_text()
    assert "the first 8 requests" in page and all(f"request {r}, " in page for r in range(8)) and "request 8, " not in page
    assert "--objective throughput" in shoal("plan", "zoo:lenet5", "--split", "stages", expect=2).stderr
    assert "rows" not in shoal("plan", "zoo:lenet5", "--objective", "throughput").stdout


def test_fewer_bytes_travel_if_an_error_is_allowed(_):
    flags = ["simulate", "zoo:nin", "--workers", 3, *NEXUS, "--split", "rows", "--fuse", 1, "--json"]
    plain = json.loads(shoal(*flags).stdout)
    for wire, error in ("f16", 0.02), ("int8", 0.1):
        narrow = json.loads(shoal(*flags, "--wire", wire, "--error", error).stdout)
        assert 0 < narrow["error"] <= error and plain["error"] == 0
        assert narrow["wire_bytes"] < plain["wire_bytes"] and narrow["cluster_ms"] < plain["cluster_ms"]
    assert "--error" in shoal("plan", "zoo:lenet5", "--wire", "f16", expect=2).stderr


def test_every_split_can_be_forced(_):
    for split in "rows", "columns", "grid", "channels", "inputs":
        plan = json.loads(shoal("plan", "zoo:lenet5", "--workers", 4, "--split", split, "--json").stdout)
        assert plan["kind"] == split and all(w["compute_ms"] > 0 for w in plan["workers"]), plan


def test_simulated_halos_take_the_bytes_they_must(_):
    for workers, split, halos in (2, "rows", 1037568), (3, "rows", 2075136), (4, "rows", 3112704), (4, "grid", 2134576):
        done = shoal("simulate", "zoo:vgg16", "--workers", workers, *NEXUS, "--split", split, "--fuse", 1, "--json")
        fields = json.loads(done.stdout)
        assert fields["halo_bytes"] == halos < fields["wire_bytes"], fields
        assert {"single_ms", "cluster_ms", "speedup", "predicted_ms", "plan"} <= fields.keys()
        assert {"compute_ms", "transfer_ms"} <= fields["workers"][0].keys()


def test_a_cluster_can_be_a_file(tmp):
    (tmp / "cluster.toml").write_text("""
        [[worker]]
        device = "pi4"
        link = "gigabit"
        count = 2
        [[worker]]
        name = "old"
        device = "mine"
        link = "air"
        speed = 0.5
        [device.mine]
        gmac_per_s = 1.0
        gb_per_s = 1.0
        [link.air]
        mbit = 50
        latency_ms = 2
        shared = true
        [coordinator]
        link = "gigabit"
    """)
    simulated = lambda *args: json.loads(shoal("simulate", "zoo:resnet18", *args, "--json").stdout)
    fields = simulated(tmp / "cluster.toml")
    assert [worker["name"] for worker in fields["workers"]] == ["pi4-0", "pi4-1", "old"], fields["workers"]
    assert simulated("--cluster", tmp / "cluster.toml") == fields, "the flag is the place without a name"
    assert "--workers" in shoal("plan", "zoo:resnet18", "--cluster", tmp / "cluster.toml", "--workers", 2, expect=2).stderr
    assert simulated(tmp / "cluster.toml", "--exclude", "0,1")["cluster_ms"] > 4 * fields["cluster_ms"]
    for wrong in ("", "[[worker]]\ndevice = \"pi9\"", "[[worker]]\ndevice = \"pi4\"\nlink = \"gigabit\"\nspede = 1",
                  "worker = 3", "[[worker]\n", "[link.air]\nmbit = \"fast\"",
                  "[[worker]]\ndevice = \"pi4\"\nlink = \"gigabit\"\n"
                  f"[[worker]]\ndevice = \"pi4\"\nlink = \"gigabit\"\ncount = {2**63 - 1}\n"):
        (tmp / "wrong.toml").write_text(wrong)
        said = shoal("plan", "zoo:digits", tmp / "wrong.toml", expect=2).stderr
        assert "wrong.toml" in said and said.count("\n") == 1, said
    assert "wifi-43.8" in shoal("plan", "zoo:digits", "--link", "string", expect=2).stderr


if __name__ == "__main__":
    run_tests(globals())
