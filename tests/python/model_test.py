"""shoal.load and shoal.save: models, their graphs, and ONNX files."""

import pathlib
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import shoal


def linear_model():
    """y = x w with a weight of 2 x 3, for batches of any size."""
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["y"], name="linear", alpha=0.5)],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [weight],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


class Loading(unittest.TestCase):
    def test_a_path_text_or_bytes_name_the_same_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "modèle.onnx"
            path.write_bytes(linear_model())
            for source in (path, str(path), linear_model(), shoal.load(linear_model())):
                (x,) = shoal.load(source).inputs
                self.assertEqual((x.name, x.shape), ("x", (None, 2)))

    def test_sessions_on_one_model_share_it(self):
        model = shoal.load(linear_model())
        x = np.ones((4, 2), np.float32)
        answers = [shoal.Session(model, device=d).run({"x": x})["y"] for d in ("cpu", "reference")]
        np.testing.assert_array_equal(*answers)

    def test_the_bytes_of_a_model_may_be_dropped(self):
        session = shoal.Session(bytes(bytearray(linear_model())))
        filler = [bytes(1000) for _ in range(1000)]  # what reuses the memory, were it free
        y = session.run({"x": np.ones((1, 2), np.float32)})["y"]
        np.testing.assert_array_equal(y, np.float32([[1.5, 2.5, 3.5]]))
        del filler


class Graphs(unittest.TestCase):
    def setUp(self):
        self.graph = shoal.load(linear_model()).graph({"x": (5, 2)})

    def test_shapes_are_concrete(self):
        self.assertEqual(self.graph.inputs[0].shape, (5, 2))
        self.assertEqual(self.graph.outputs[0].shape, (5, 3))
        self.assertEqual(shoal.load(linear_model()).graph().inputs[0].shape, (1, 2))

    def test_outputs_have_the_names_that_the_model_gives_them(self):
        graph = helper.make_graph(
            [helper.make_node("Shape", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"])],
            "test",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in ("z", "y")],
        )
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        loaded = shoal.load(model.SerializeToString()).graph()
        self.assertEqual([output.name for output in loaded.outputs], ["z", "y"])

    def test_a_node_says_what_it_does(self):
        (node,) = self.graph.nodes
        self.assertEqual((node.op, node.name), ("Gemm", "linear"))
        self.assertEqual((node.inputs, node.outputs), (["x", "w"], ["y"]))
        self.assertEqual(node.attributes["alpha"], 0.5)
        self.assertEqual((node.macs, node.parameters), (30, 6))

    def test_weights_are_arrays_to_be_read_only(self):
        weight = self.graph.weights["w"]
        np.testing.assert_array_equal(weight, np.arange(6).reshape(2, 3))
        self.assertEqual(self.graph.weights["w"].ctypes.data, weight.ctypes.data)
        del self.graph
        with self.assertRaises(ValueError):
            weight[0, 0] = 1

    def test_text_is_that_of_the_command_line(self):
        self.assertIn("Gemm(x, w)", str(self.graph))

    def test_shapes_that_do_not_fit_are_refused(self):
        model = shoal.load(linear_model())
        for shapes in ({"x": (5, 3)}, {"z": (5, 2)}, {"x": (5,)}, {"x": (1,) * 9}, {"x": (-1, 2)}):
            with self.subTest(shapes), self.assertRaises(shoal.InvalidArgument):
                model.graph(shapes)
        for shapes in ({"x": "five"}, {"x": (2.5, 2)}, {"x": (2**70, 2)}, [1, 2], {3: (5, 2)}):
            with self.subTest(shapes), self.assertRaises(TypeError):
                model.graph(shapes)


class Saving(unittest.TestCase):
    def test_what_was_saved_is_onnx_and_computes_the_same(self):
        x = np.random.default_rng(1).random((1, 1, 28, 28), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lenet5.onnx"
            shoal.save("zoo:lenet5", path)
            onnx.checker.check_model(str(path))
            saved = shoal.Session(path).run({"input": x})["output"]
        expected = shoal.Session("zoo:lenet5").run({"input": x})["output"]
        np.testing.assert_allclose(saved, expected, rtol=1e-5, atol=1e-6)

    def test_a_graph_is_written_with_its_shapes(self):
        content = shoal.load(linear_model()).graph({"x": (5, 2)}).to_onnx()
        self.assertEqual(shoal.load(content).inputs[0].shape, (5, 2))
        model = onnx.load_from_string(content)
        self.assertEqual([output.name for output in model.graph.output], ["y"])

    def test_a_folder_that_is_not_there_is_an_error(self):
        with self.assertRaises(shoal.Error):
            shoal.save("zoo:lenet5", "/nonexistent/folder/m.onnx")
        with self.assertRaises(TypeError):
            shoal.save("zoo:lenet5", None)


if __name__ == "__main__":
    unittest.main()
