"""shoal.Session and shoal.train on a cluster of two workers on this machine: cluster_test.py SHOAL"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import shoal

SHOAL = sys.argv.pop()


def command(*arguments):
    subprocess.run([SHOAL, *map(str, arguments)], check=True, capture_output=True, text=True)


def start(*arguments):
    """A command that stays, and the first line it prints."""
    process = subprocess.Popen([SHOAL, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.folder = Path(cls.scratch) / "cluster"
        cls.workers = {}
        command("cluster", "init", "--dir", cls.folder)
        for name in ("kitchen", "hall"):
            here = ["--listen", "127.0.0.1:0"]
            invite, token = start("cluster", "invite", "--dir", cls.folder, *here)
            worker = ["worker", "--dir", Path(cls.scratch) / name, "--name", name, "--threads", 1]
            process, line = start(*worker, "--store", Path(cls.scratch) / name / "store", *here, "--join", token)
            cls.addClassCleanup(process.communicate)
            cls.addClassCleanup(process.terminate)
            invite.communicate()
            command("cluster", "add", name, line.split()[2], "--dir", cls.folder)
            cls.workers[name] = process

    def test_1_a_cluster_answers_as_one_machine_does(self):
        x = {"input": np.random.default_rng(1).random((1, 1, 28, 28), np.float32)}
        expected = shoal.Session("zoo:lenet5").run(x)["output"]
        session = shoal.Session("zoo:lenet5", device=f"cluster:{self.folder}")
        self.assertIn("cluster", session.device)
        for _ in range(3):
            np.testing.assert_allclose(session.run(x)["output"], expected, rtol=1e-4, atol=1e-5)
        with self.assertRaises(shoal.DeadlineExceeded):
            session.run(x, deadline=0)

    def test_1_a_cluster_is_used_as_it_is_asked_to_be(self):
        x = {"input": np.random.default_rng(1).random((1, 1, 28, 28), np.float32)}
        expected = shoal.Session("zoo:lenet5").run(x)["output"]
        for options in ({"survive": 1}, {"survive": 1, "verify": 2}, {"throughput": True}):
            session = shoal.Session("zoo:lenet5", device=f"cluster:{self.folder}", **options)
            np.testing.assert_allclose(session.run(x)["output"], expected, rtol=1e-4, atol=1e-5)
        with self.assertRaises(shoal.InvalidArgument):
            shoal.Session("zoo:lenet5", device=f"cluster:{self.folder}", survive=3)
        with self.assertRaises(shoal.InvalidArgument):
            shoal.Session("zoo:lenet5", device=f"cluster:{self.folder}", verify=2)

    def test_1_a_cluster_trains_as_the_command_does(self):
        random = np.random.default_rng(1)
        labels = random.integers(0, 10, 96)
        images = random.integers(0, 100, (96, 28, 28), np.uint8)
        images[np.arange(96), 2 * labels] += 150
        given = {"held_out": (images, labels), "batch": 16, "steps": 12, "cluster": self.folder, "threads": 1}
        results = [shoal.train("zoo:mlp", (images, labels), **given, all_workers=all) for all in (False, True)]
        for result in results:
            self.assertEqual((result.cluster.steps, result.cluster.codec, result.epochs), (12, "f32", ()))
            self.assertEqual(result.cluster.lost, ())
            again = shoal.evaluate(result.model, (images, labels))
            self.assertAlmostEqual(again.top1, result.evaluation.top1, delta=2)
        for name, split in (("train", images), ("test", images)):
            np.save(f"{self.scratch}/{name}-images.npy", split)
            np.save(f"{self.scratch}/{name}-labels.npy", labels)
        words = ["train", "zoo:mlp", "--data", self.scratch, "--format", "npy", "--cluster", "--batch", 16, "--steps", 12]
        done = subprocess.run(
            [SHOAL, *map(str, words), "--json"],
            env={**os.environ, "SHOAL_CLUSTER_DIR": str(self.folder)},
            check=True,
            capture_output=True,
            text=True,
        )
        learned = {result.cluster.weights_sha256 for result in results}
        self.assertEqual(learned, {json.loads(done.stdout.splitlines()[-1])["weights_sha256"]})
        few = shoal.train("zoo:mlp", (images, labels), **given, all_workers=True, codec="1bit")
        self.assertEqual((few.cluster.codec, few.cluster.workers), ("1bit", 2))

    def test_1_what_a_cluster_cannot_train_is_refused(self):
        data = np.zeros((32, 28, 28), np.uint8), [0] * 32
        for wrong in ({"codec": "morse"}, {"micro_batches": 3}, {"on_epoch": print}, {"device": "reference"}):
            with self.subTest(wrong), self.assertRaises(shoal.InvalidArgument):
                shoal.train("zoo:mlp", data, batch=16, cluster=self.folder, **wrong)
        with self.assertRaises(shoal.Unsupported):
            shoal.train("zoo:mlp", data, batch=16, cluster=self.folder, patience=2)
        with self.assertRaises(TypeError):
            shoal.train("zoo:mlp", data, batch=16, cluster=self.folder, codecs="f32")
        with self.assertRaises(shoal.NotFound):
            shoal.train("zoo:mlp", data, batch=16, cluster=f"{self.scratch}/none")

    def test_2_a_cluster_without_workers_is_unavailable(self):
        for process in self.workers.values():
            process.kill()
            process.wait()
        with self.assertRaises(shoal.Unavailable):
            shoal.Session("zoo:lenet5", device=f"cluster:{self.folder}")

    def test_3_a_folder_without_a_cluster_is_not_found(self):
        with self.assertRaises(shoal.NotFound):
            shoal.Session("zoo:lenet5", device=f"cluster:{self.scratch}/none")


if __name__ == "__main__":
    unittest.main()
