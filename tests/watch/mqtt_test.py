#!/usr/bin/python3
"""shoal watch with a real broker: mqtt_test.py SHOAL [PART OF A TEST'S NAME]

mosquitto and mosquitto_sub, of Debian's packages mosquitto and mosquitto-clients; exit code 77 without.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import Running, run_tests, shoal, wait_for  # noqa: E402

BROKER = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
if BROKER is None or shutil.which("mosquitto_sub") is None:
    print("skipped: mosquitto is not here")
    sys.exit(77)
if "no MQTT" in shoal("watch", "zoo:scene", "--frames", 1, "--mqtt", "mqtt://127.0.0.1:1", expect=None).stderr:
    print("skipped: this build has no MQTT")
    sys.exit(77)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Broker:
    """Remembers nothing when it is restarted."""

    def __init__(self, tmp, port):
        config = tmp / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
        self.process = subprocess.Popen([BROKER, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.answers(port))

    @staticmethod
    def answers(port):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()


class Listener:
    """All messages of a broker, from the retained ones on, as (topic, payload, whether it was retained)."""

    def __init__(self, port):
        self.messages = []
        self.process = subprocess.Popen(["mosquitto_sub", "-h", "127.0.0.1", "-p", str(port), "-t", "#", "-F", "%r %t %p"],
                                        stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            retained, topic, payload = line.rstrip("\n").split(" ", 2)
            self.messages.append((topic, payload, retained == "1"))

    def of(self, topic):
        return [payload for one, payload, _ in list(self.messages) if one == topic]

    def stop(self):
        self.process.kill()
        self.thread.join()


def check_discovery(listener, camera):
    """Every sensor that is announced is published where it says so."""
    announced = [(topic, json.loads(payload)) for topic, payload, _ in listener.messages if topic.startswith("homeassistant/")]
    assert announced, listener.messages
    for topic, sensor in announced:
        assert topic.startswith(f"homeassistant/sensor/shoal_{camera}/") and topic.endswith("/config"), topic
        assert sensor["availability_topic"] == "shoal/available", sensor
        assert sensor["device"]["identifiers"] == [f"shoal_{camera}"] and sensor["unique_id"], sensor
        assert listener.of(sensor["state_topic"]), sensor
    assert len({sensor["unique_id"] for _, sensor in announced}) == len({topic for topic, _ in announced})


def test_counts_and_events_reach_home_assistant(tmp):
    port = free_port()
    broker = Broker(tmp, port)
    listener = Listener(port)
    try:
        done = shoal("watch", "zoo:scene", "--frames", 240, "--mqtt", f"mqtt://127.0.0.1:{port}", "--zone",
                     "left=0,0,0.5,0,0.5,1,0,1", "--line", "middle=0.5,0,0.5,1", "--jsonl", tmp / "f.jsonl", "--json")
        wait_for(lambda: "offline" in listener.of("shoal/available"))
        assert listener.of("shoal/available") == ["online", "offline"], listener.of("shoal/available")
        check_discovery(listener, "zoo_scene")
        counts = [int(count) for count in listener.of("shoal/zoo_scene/class_0")]
        assert counts[-1] == 0 and max(counts) == 4, counts
        events = [json.loads(event) for event in listener.of("shoal/events")]
        written = [event for line in (tmp / "f.jsonl").read_text().splitlines() for event in json.loads(line).get("events", [])]
        kinds = [event["event"] for event in events]
        assert kinds[:len(written)] == [event["event"] for event in written], kinds
        assert kinds.count("appeared") == kinds.count("vanished") == 4, kinds
        assert {event["type"] for event in events} == {"new", "update", "end"}
        assert all(event["after"]["camera"] == "zoo_scene" for event in events)
        crossed = json.loads(done.stdout.splitlines()[-1])["sources"][0]["lines"].get("middle", {"forwards": 0, "backwards": 0})
        for way, count in crossed.items():
            assert ([int(x) for x in listener.of(f"shoal/zoo_scene/middle/class_0/{way}")] or [0])[-1] == count, crossed
        # Who comes later gets the states, and no events.
        late = Listener(port)
        wait_for(lambda: late.of("shoal/available") == ["offline"] and late.of("shoal/zoo_scene/class_0") == ["0"])
        assert not late.of("shoal/events")
        late.stop()
    finally:
        listener.stop()
        broker.stop()


def test_a_broker_that_was_away_is_told_everything_again(tmp):
    """And when the process is killed, its last will is known."""
    port = free_port()
    with Running("watch", "zoo:scene", "zoo:scene", "--mqtt", f"mqtt://127.0.0.1:{port}/deep/down") as watch:
        for turn in range(2):  # it is not there when watching begins
            broker = Broker(tmp, port)
            listener = Listener(port)
            wait_for(lambda: "online" in listener.of("deep/down/available"))
            wait_for(lambda: listener.of("deep/down/zoo_scene_2/class_0"))
            wait_for(lambda: any(topic.startswith("homeassistant/sensor/deep_down_zoo_scene") for topic, _, _ in listener.messages))
            if turn == 0:
                listener.stop()
                broker.stop()
        watch.process.kill()
        wait_for(lambda: listener.of("deep/down/available")[-1] == "offline")
        listener.stop()
        broker.stop()


run_tests(globals())
