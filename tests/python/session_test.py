"""shoal.Session: NumPy in and out, without copies, with deadlines, from several threads."""

import datetime
import resource
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
from onnx import ModelProto, TensorProto, helper

import shoal


def model_of(nodes, inputs, outputs, initializers=()):
    """The bytes of an ONNX model; inputs and outputs are (name, ONNX type, shape)."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*info) for info in inputs],
        [helper.make_tensor_value_info(*info) for info in outputs],
        list(initializers),
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def doubling_model(onnx_type, shape):
    """y = x + x, for any numeric type."""
    node = helper.make_node("Add", ["x", "x"], ["y"])
    return model_of([node], [("x", onnx_type, shape)], [("y", onnx_type, shape)])


def digit(seed=1):
    return np.random.default_rng(seed).random((1, 1, 28, 28), np.float32)


class Values(unittest.TestCase):
    def test_every_element_type_goes_in_and_out(self):
        types = ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16"]
        types += ["int32", "uint32", "int64", "uint64"]
        for name in types:
            with self.subTest(name):
                number = helper.mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(name)]
                session = shoal.Session(doubling_model(number, [3]))
                self.assertEqual(session.inputs[0].dtype, np.dtype(name))
                y = session.run({"x": np.arange(3, dtype=name)})["y"]
                self.assertEqual(y.dtype, np.dtype(name))
                np.testing.assert_array_equal(y, [0, 2, 4])

    def test_booleans_go_in_and_out(self):
        node = helper.make_node("Not", ["x"], ["y"])
        infos = [("x", TensorProto.BOOL, [2])], [("y", TensorProto.BOOL, [2])]
        y = shoal.Session(model_of([node], *infos)).run({"x": np.array([True, False])})["y"]
        np.testing.assert_array_equal(y, np.array([False, True]))

    def test_bfloat16_travels_as_its_bits(self):
        session = shoal.Session(doubling_model(TensorProto.BFLOAT16, [2]))
        self.assertEqual(session.inputs[0].type, "bf16[2]")
        one, two, minus_four = 0x3F80, 0x4000, 0xC080
        y = session.run({"x": np.array([one, minus_four], np.uint16)})["y"]
        np.testing.assert_array_equal(y, np.array([two, 0xC100], np.uint16))

    def test_lists_and_scalars_take_the_type_of_the_input(self):
        session = shoal.Session(doubling_model(TensorProto.FLOAT, [2]))
        np.testing.assert_array_equal(session.run({"x": [1, 2.5]})["y"], np.float32([2, 5]))
        session = shoal.Session(doubling_model(TensorProto.INT64, []))
        self.assertEqual(session.run({"x": 21})["y"], 42)
        self.assertEqual(session.run({"x": np.int64(21)})["y"].shape, ())

    def test_empty_arrays_give_empty_answers(self):
        session = shoal.Session(doubling_model(TensorProto.FLOAT, ["n", 3]))
        self.assertEqual(session.run({"x": np.zeros((0, 3), np.float32)})["y"].shape, (0, 3))

    def test_strided_swapped_and_unaligned_arrays_are_read_right(self):
        session = shoal.Session(doubling_model(TensorProto.FLOAT, ["n", "m"]))
        plain = np.arange(12, dtype=np.float32).reshape(3, 4)
        shifted = np.frombuffer(b"\0" + plain.tobytes(), np.float32, offset=1).reshape(3, 4)
        self.assertFalse(shifted.flags.aligned)
        for x in (plain.T, plain[::-1, ::2], plain.astype(">f4"), shifted, plain[1:2, 1:2]):
            np.testing.assert_array_equal(session.run({"x": x})["y"], np.asarray(x) * 2)

    def test_what_speaks_dlpack_only_is_an_input(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__(stream=stream)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        session = shoal.Session(doubling_model(TensorProto.FLOAT, [2]))
        x = np.float32([1, 2])
        self.assertEqual(session._addresses({"x": Foreign(x)})["x"], x.ctypes.data)
        np.testing.assert_array_equal(session.run({"x": Foreign(x)})["y"], [2, 4])

    def test_buffers_are_inputs(self):
        session = shoal.Session(doubling_model(TensorProto.UINT8, [3]))
        np.testing.assert_array_equal(session.run({"x": memoryview(b"\1\2\3")})["y"], [2, 4, 6])


class Description(unittest.TestCase):
    def test_answers_come_in_the_order_of_the_model(self):
        nodes = [helper.make_node(op, ["x"], [name]) for op, name in (("Neg", "z"), ("Abs", "a"))]
        outputs = [(name, TensorProto.FLOAT, [1]) for name in ("z", "a")]
        session = shoal.Session(model_of(nodes, [("x", TensorProto.FLOAT, [1])], outputs))
        self.assertEqual(list(session.run({"x": [1]})), ["z", "a"])

    def test_says_what_a_model_takes_and_gives(self):
        session = shoal.Session(doubling_model(TensorProto.FLOAT, ["batch", 3]))
        (x,), (y,) = session.inputs, session.outputs
        self.assertEqual((x.name, x.dtype, x.shape), ("x", np.dtype("float32"), (None, 3)))
        self.assertEqual((y.name, y.dtype, y.shape), ("y", np.dtype("float32"), (None, 3)))
        self.assertEqual(repr(x), "<shoal.TensorInfo x: f32[?,3]>")

    def test_an_output_need_not_declare_its_type(self):
        model = ModelProto.FromString(doubling_model(TensorProto.FLOAT, [3]))
        model.graph.output[0].ClearField("type")
        (y,) = shoal.Session(model.SerializeToString()).outputs
        self.assertEqual((y.name, y.dtype, y.shape, y.type), ("y", None, None, "?"))

    def test_the_reference_device_agrees_with_the_cpu(self):
        x = {"input": digit()}
        cpu, reference = (shoal.Session("zoo:lenet5", device=d) for d in ("cpu", "reference"))
        self.assertEqual((cpu.device, reference.device), ("cpu", "reference"))
        np.testing.assert_allclose(
            cpu.run(x)["output"], reference.run(x)["output"], rtol=1e-4, atol=1e-5
        )


class Copies(unittest.TestCase):
    def setUp(self):
        self.session = shoal.Session(doubling_model(TensorProto.FLOAT, ["n"]))

    def test_the_library_reads_a_contiguous_array_where_it_lies(self):
        x = np.ones(1000, np.float32)
        self.assertEqual(self.session._addresses({"x": x})["x"], x.ctypes.data)
        x.flags.writeable = False
        self.assertEqual(self.session._addresses({"x": x[500:]})["x"], x.ctypes.data + 2000)
        self.assertNotEqual(self.session._addresses({"x": x[::2]})["x"], x.ctypes.data)

    def test_a_run_takes_no_memory_for_its_inputs(self):
        first = helper.make_tensor("first", TensorProto.INT64, [1], [0])
        node = helper.make_node("Gather", ["x", "first"], ["y"])
        infos = [("x", TensorProto.FLOAT, ["n", 1024])], [("y", TensorProto.FLOAT, [1, 1024])]
        session = shoal.Session(model_of([node], *infos, [first]))
        x = np.ones((65536, 1024), np.float32)  # 256 MB
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        session.run({"x": x})
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown * 1024, x.nbytes / 4)

    def test_an_input_is_let_go_after_the_run(self):
        x = np.ones(4, np.float32)
        before = sys.getrefcount(x)
        self.session.run({"x": x})
        self.assertEqual(sys.getrefcount(x), before)

    def test_an_answer_is_handed_on_without_copying(self):
        y = self.session.run({"x": np.ones(4, np.float32)})["y"]
        self.assertFalse(y.flags.owndata)
        self.assertEqual(y.__dlpack_device__(), (1, 0))
        self.assertEqual(np.from_dlpack(y).ctypes.data, y.ctypes.data)

    def test_an_answer_outlives_its_session_and_is_the_callers(self):
        y = self.session.run({"x": np.ones(4, np.float32)})["y"]
        again = self.session.run({"x": np.full(4, 2, np.float32)})["y"]
        del self.session
        y += 1
        np.testing.assert_array_equal(y, [3, 3, 3, 3])
        np.testing.assert_array_equal(again, [4, 4, 4, 4])

    def test_an_answer_that_is_an_input_is_a_copy_of_it(self):
        node = helper.make_node("Identity", ["x"], ["y"])
        infos = [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])]
        for device in ("cpu", "reference"):
            x = np.ones(2, np.float32)
            y = shoal.Session(model_of([node], *infos), device=device).run({"x": x})["y"]
            y[0] = 5
            np.testing.assert_array_equal(x, [1, 1], device)

    def test_an_answer_that_is_a_weight_is_a_copy_of_it(self):
        weight = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
        node = helper.make_node("Identity", ["w"], ["y"])
        infos = [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])]
        for device in ("cpu", "reference"):
            session = shoal.Session(model_of([node], *infos, [weight]), device=device)
            x = {"x": np.ones(2, np.float32)}
            session.run(x)["y"][:] = 9
            np.testing.assert_array_equal(session.run(x)["y"], [1, 2], device)


class Deadlines(unittest.TestCase):
    def setUp(self):
        self.session = shoal.Session("zoo:lenet5")
        self.x = {"input": digit()}

    def test_a_deadline_that_has_passed_is_a_timeout(self):
        for deadline in (0, -1, -1e300, datetime.timedelta(0)):
            with self.subTest(deadline), self.assertRaises(shoal.DeadlineExceeded):
                self.session.run(self.x, deadline=deadline)

    def test_a_deadline_in_the_future_is_none(self):
        for deadline in (None, 3600, 1e300, float("inf"), datetime.timedelta(days=1), True):
            self.assertIn("output", self.session.run(self.x, deadline=deadline))

    def test_what_is_no_time_is_refused(self):
        with self.assertRaises(shoal.InvalidArgument):
            self.session.run(self.x, deadline=float("nan"))
        with self.assertRaises(TypeError):
            self.session.run(self.x, deadline="soon")

    def test_another_thread_takes_a_request_back(self):
        session = shoal.Session("zoo:mobilenetv2", device="reference")  # takes minutes
        x = {"input": np.zeros((1, 3, 224, 224), np.float32)}
        cancellation = shoal.Cancellation()
        self.assertFalse(cancellation.cancelled)
        thread = threading.Thread(target=cancellation.cancel)
        thread.start()
        with self.assertRaises(shoal.Cancelled):
            session.run(x, cancellation=cancellation)
        thread.join()
        self.assertTrue(cancellation.cancelled)

    def test_prepared_shapes_are_those_that_fit(self):
        session = shoal.Session(doubling_model(TensorProto.FLOAT, ["n"]))
        session.prepare({"x": (3,)})
        for shapes in ({}, {"x": (3, 3)}, {"z": (3,)}):
            with self.subTest(shapes), self.assertRaises(shoal.InvalidArgument):
                session.prepare(shapes)
        with self.assertRaises(TypeError):
            session.prepare({"x": "three"})


class Threads(unittest.TestCase):
    def test_other_threads_run_during_a_request(self):
        """With an interval of 1,000 s a thread loses the GIL only where it gives it up."""
        session = shoal.Session("zoo:mobilenetv2", threads=1)
        x = {session.inputs[0].name: np.zeros((1, 3, 224, 224), np.float32)}
        session.run(x)
        ticks, done = 0, False

        def tick():
            nonlocal ticks
            while not done:
                ticks += 1
                time.sleep(0)  # gives the GIL up

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        thread = threading.Thread(target=tick)
        try:
            thread.start()
            for _ in range(50):  # the other thread may not be given a core during one of them
                before = ticks
                session.run(x)
                if ticks > before:
                    break
            self.assertGreater(ticks, before)
        finally:
            done = True
            sys.setswitchinterval(interval)
            thread.join()

    def test_two_threads_on_one_session_get_their_own_answers(self):
        session = shoal.Session("zoo:lenet5")
        inputs = [digit(seed) for seed in range(8)]
        expected = [session.run({"input": x})["output"] for x in inputs]
        start = threading.Barrier(2)
        failures, answered = [], [0, 0]

        def ask(me):
            start.wait()
            for i in range(200):
                which = (2 * i + me) % len(inputs)
                answer = session.run({"input": inputs[which]})["output"]
                if not np.allclose(answer, expected[which], rtol=1e-4, atol=1e-6):
                    failures.append((me, i))
                answered[me] += 1

        threads = [threading.Thread(target=ask, args=(me,)) for me in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, answered), ([], [200, 200]))

    def test_a_program_may_end_while_threads_wait_for_answers(self):
        program = """
import threading, numpy as np, shoal
session = shoal.Session("zoo:mobilenetv2", threads=1)
x = {"input": np.zeros((1, 3, 224, 224), np.float32)}
answered = threading.Semaphore(0)
def ask():
    while True:
        session.run(x)
        answered.release()
for _ in range(2):
    threading.Thread(target=ask, daemon=True).start()
answered.acquire()
answered.acquire()
"""
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
