"""shoal.train and shoal.evaluate on arrays and folders."""

import os
import pathlib
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import shoal


def bright_rows(count, seed):
    """Images of noise in which one row is bright: the class is its number, halved."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    images = random.integers(0, 100, (count, 28, 28), np.uint8)
    images[np.arange(count), 2 * labels] += 150
    return images, labels


class Data(unittest.TestCase):
    def test_arrays_are_not_copied(self):
        images, labels = bright_rows(5, 1)
        data = shoal.Dataset.from_arrays(images, labels)
        image, label = data[1]
        self.assertEqual(image.ctypes.data, images[1].ctypes.data)
        self.assertEqual((len(data), image.shape, label), (5, (28, 28, 1), labels[1]))
        with self.assertRaises(ValueError):
            image[0] = 1  # it is to be read only

    def test_examples_that_are_not_there_are_index_errors(self):
        data = shoal.Dataset.from_arrays(*bright_rows(3, 1))
        for index in (3, -4, 2**62):
            with self.assertRaises(IndexError):
                data[index]
        self.assertEqual(len(list(data)), 3)

    def test_a_folder_of_npy_files_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            images, labels = bright_rows(7, 1)
            np.save(os.path.join(folder, "images.npy"), images)
            np.save(os.path.join(folder, "labels.npy"), labels)
            data = shoal.Dataset(pathlib.Path(folder), "npy")
            self.assertEqual((len(data), data[-1][1]), (7, labels[6]))

    def test_what_is_no_data_is_refused(self):
        images, labels = bright_rows(3, 1)
        for wrong in (images.astype(np.float32), images[0], np.zeros((3, 28, 28, 2), np.uint8)):
            with self.subTest(wrong.shape), self.assertRaises(shoal.InvalidArgument):
                shoal.Dataset.from_arrays(wrong, labels)
        for wrong in (labels[:2], labels.astype(np.float32), labels[:, None]):
            with self.subTest(wrong), self.assertRaises(shoal.InvalidArgument):
                shoal.Dataset.from_arrays(images, wrong)
        with self.assertRaises(shoal.NotFound):
            shoal.Dataset("/nonexistent", "npy")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(shoal.InvalidArgument):
                shoal.Dataset(folder, "tape")
            with self.assertRaises(shoal.InvalidArgument):
                shoal.Dataset(folder, "npy", split="some")


class Training(unittest.TestCase):
    def train(self, **options):
        given = {"epochs": 2, "batch": 20, "threads": 1, **options}
        return shoal.train("zoo:mlp", bright_rows(300, 1), held_out=bright_rows(100, 2), **given)

    def test_a_network_learns_and_can_be_used(self):
        result = self.train(epochs=3)
        self.assertGreater(result.evaluation.top1, 80)
        self.assertEqual((result.stopped, len(result.epochs)), ("done", 3))
        self.assertEqual(result.epochs[-1].held_out_top1, result.evaluation.top1)
        again = shoal.evaluate(result.model, bright_rows(100, 2))
        self.assertAlmostEqual(again.top1, result.evaluation.top1, delta=1)
        self.assertEqual(again.confusions.sum(), 100)
        self.assertEqual(len(again.mistakes), min(24, 100 - round(again.top1)))

    def test_the_seed_decides_everything(self):
        def weights(result):
            return result.model.graph().weights

        first, second, other = (weights(self.train(seed=seed)) for seed in (1, 1, 2))
        name = next(name for name, weight in first.items() if weight.ndim == 2)
        np.testing.assert_array_equal(first[name], second[name])
        self.assertTrue((first[name] != other[name]).any())

    def test_the_file_and_the_checkpoint_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            out, kept = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "m.safetensors"
            whole = self.train(epochs=4, out=out, checkpoint=kept)
            self.assertTrue(out.exists() and kept.exists())
            again = self.train(epochs=4, out=out, checkpoint=kept, resume=True)
            self.assertEqual(again.evaluation.top1, whole.evaluation.top1)

    def test_the_callback_sees_every_epoch_and_may_end_training(self):
        seen = []
        self.train(on_epoch=seen.append)
        self.assertEqual([type(epoch) for epoch in seen], [shoal.Epoch] * 2)

        def stop(epoch):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            self.train(epochs=1000, on_epoch=stop)

    def test_an_interrupt_ends_training(self):
        """No Python code runs in the meantime that would notice the signal by itself."""

        def interrupt(checkpoint):
            while not checkpoint.exists():
                time.sleep(0.005)
            os.kill(os.getpid(), signal.SIGINT)

        with tempfile.TemporaryDirectory() as folder:
            out, kept = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "m.safetensors"
            thread = threading.Thread(target=interrupt, args=(kept,))
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                self.train(epochs=200, out=out, checkpoint=kept, checkpoint_every=1)
            thread.join()
            self.assertFalse(out.exists(), "it went on to the end")

    def test_options_out_of_range_are_invalid(self):
        for options in (
            {"epochs": 0},
            {"batch": 10**6},
            {"batch": 301},
            {"rate": -1},
            {"rate": float("nan")},
            {"momentum": 2},
            {"optimizer": "magic"},
            {"schedule": "none"},
            {"hold_out": 1},
            {"random_crop": 0},
            {"temperature": 0},
            {"distill": 0.5},
            {"retarget": -5},
            {"penalties": ["lasso"]},
            {"resume": True},
            {"resize": 2**40},
            {"std": [0]},
            {"threads": -1},
        ):
            with self.subTest(options), self.assertRaises(shoal.InvalidArgument):
                self.train(**options)

    def test_options_that_do_not_exist_or_have_another_type_are_type_errors(self):
        for options in ({"epoch": 3}, {"epochs": "many"}, {"freeze": [3]}, {"momentum": [1]}):
            with self.subTest(options), self.assertRaises(TypeError):
                self.train(**options)

    def test_what_is_not_there_is_named(self):
        with self.assertRaises(shoal.NotFound):
            self.train(teacher="absent.onnx", distill=0.5)
        with self.assertRaises(shoal.NotFound):
            self.train(preset="unknown")
        with self.assertRaises(shoal.Error):
            self.train(out="/nonexistent/folder/m.onnx")


class Evaluating(unittest.TestCase):
    def test_models_and_images_that_do_not_fit_are_refused(self):
        images = np.zeros((4, 30, 30), np.uint8)
        with self.assertRaises(shoal.InvalidArgument):
            shoal.evaluate("zoo:lenet5", (images, [0] * 4))
        self.assertEqual(shoal.evaluate("zoo:lenet5", (images, [0] * 4), crop=28).images, 4)
        self.assertEqual(shoal.evaluate("zoo:lenet5", (images, [0] * 4), crop=28, limit=3).images, 3)

    def test_labels_that_are_no_classes_count_as_wrong(self):
        images = np.zeros((4, 28, 28), np.uint8)
        self.assertEqual(shoal.evaluate("zoo:lenet5", (images, [-1, 10, 2**40, -(2**62)])).top1, 0)


if __name__ == "__main__":
    unittest.main()
