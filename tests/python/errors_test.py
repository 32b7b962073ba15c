"""Whatever a caller does wrong is an exception with a code, never the end of the process."""

import os
import tempfile
import unittest

import numpy as np

import shoal

CODES = {
    shoal.InvalidArgument: ("invalid_argument", ValueError),
    shoal.NotFound: ("not_found", FileNotFoundError, KeyError),
    shoal.Unsupported: ("unsupported", NotImplementedError),
    shoal.Corrupt: ("corrupt", ValueError),
    shoal.Exhausted: ("exhausted", MemoryError),
    shoal.Unavailable: ("unavailable", ConnectionError),
    shoal.DeadlineExceeded: ("deadline", TimeoutError),
    shoal.Cancelled: ("cancelled",),
    shoal.Internal: ("internal", RuntimeError),
}


class Classes(unittest.TestCase):
    def test_each_is_an_error_and_what_python_calls_it(self):
        for error, (code, *others) in CODES.items():
            with self.subTest(error):
                self.assertTrue(issubclass(error, (shoal.Error, *others)))
                for other in others:
                    self.assertTrue(issubclass(error, other))
                raised = error("conv_3: too large")
                self.assertEqual((raised.code, str(raised)), (code, "conv_3: too large"))


class Opening(unittest.TestCase):
    def test_what_is_not_there_is_not_found(self):
        for source in ("zoo:none", "zoo:", "/nonexistent/m.onnx", "", "a\udcffb.onnx"):
            with self.subTest(source), self.assertRaises(shoal.NotFound):
                shoal.Session(source)
        for device in ("gpu", "", "opencl:77", "cpu\0"):
            with self.subTest(device), self.assertRaises(shoal.NotFound):
                shoal.Session("zoo:lenet5", device=device)

    def test_what_is_no_model_is_corrupt(self):
        with self.assertRaises(shoal.Corrupt):
            shoal.Session(b"\xff" * 100)
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(os.urandom(1000))
            file.flush()
            with self.assertRaises((shoal.Corrupt, shoal.InvalidArgument)):
                shoal.Session(file.name)

    def test_a_folder_or_an_empty_file_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(shoal.Error):
                shoal.Session(folder)
        with self.assertRaises(shoal.Error):
            shoal.Session(b"")

    def test_arguments_of_another_type_are_type_errors(self):
        for source in (None, 3, 1.5, [], np.zeros(3), object()):
            with self.subTest(source), self.assertRaises(TypeError):
                shoal.Session(source)
        for options in ({"device": 3}, {"threads": "two"}, {"threads": 2**40}, {"thread": 2}):
            with self.subTest(options), self.assertRaises(TypeError):
                shoal.Session("zoo:lenet5", **options)

    def test_an_impossible_number_of_threads_is_invalid(self):
        for threads in (-1, 1_000_000):
            with self.subTest(threads), self.assertRaises(shoal.InvalidArgument):
                shoal.Session("zoo:lenet5", threads=threads)

    def test_a_subclass_that_forgets_to_initialize_is_a_type_error(self):
        class Forgetful(shoal.Session):
            def __init__(self):
                pass

        with self.assertRaises(TypeError):
            Forgetful()


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = shoal.Session("zoo:lenet5")
        cls.image = np.zeros((1, 1, 28, 28), np.float32)

    def assert_invalid(self, inputs, words):
        with self.assertRaises(shoal.InvalidArgument) as caught:
            self.session.run(inputs)
        self.assertIn(words, str(caught.exception))

    def test_inputs_that_do_not_fit_are_refused_by_name(self):
        self.assert_invalid({}, "input input is missing")
        self.assert_invalid({"image": self.image}, "no input image")
        self.assert_invalid({"input": self.image[0]}, "shape")
        self.assert_invalid({"input": self.image.astype(np.float64)}, "f64")
        self.assert_invalid({"input": np.zeros((1,) * 9, np.float32)}, "9 dimensions")
        self.assert_invalid({3: self.image}, "keys are strings")

    def test_elements_that_are_not_numbers_are_refused(self):
        for value in (
            np.zeros((1, 1, 28, 28), np.complex64),
            np.zeros((1, 1, 28, 28), np.longdouble),
            np.zeros((1, 1, 28, 28), object),
            np.array("digit"),
            np.array(np.datetime64("2026-01-01")),
            np.zeros(1, [("a", "f4")]),
        ):
            with self.subTest(value.dtype):
                self.assert_invalid({"input": value}, "not supported")

    def test_an_array_of_more_than_any_memory_is_refused_before_it_is_copied(self):
        endless = np.broadcast_to(np.float32(0), (2**40, 2**10))
        with self.assertRaises(shoal.Exhausted):
            self.session.run({"input": endless})

    def test_values_that_numpy_cannot_take_raise_what_numpy_raises(self):
        for value in (object(), "digit", [[1, 2], [3]], None, {1: 2}):
            with self.subTest(value), self.assertRaises((TypeError, ValueError)):
                self.session.run({"input": value})

    def test_inputs_that_are_no_dict_are_type_errors(self):
        for inputs in (None, self.image, [self.image], "input"):
            with self.assertRaises(TypeError):
                self.session.run(inputs)

    def test_a_name_that_is_no_text_is_an_error(self):
        with self.assertRaises(ValueError):
            self.session.run({"\ud800": self.image})

    def test_the_session_still_answers_after_all_that(self):
        self.assertEqual(self.session.run({"input": self.image})["output"].shape, (1, 10))


if __name__ == "__main__":
    unittest.main()
