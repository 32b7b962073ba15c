"""Valid models that must be answered, so that a program that refuses everything does not pass."""

import numpy as np
from onnx import helper

from case import ACCEPTED, Theme, f32, i64, make_model
from encode import graph, model, node
from external import SIXTEEN_BYTES, X, external_model
from nesting import CALL_F, ELSE, RELU, THEN, function, function_model
from wire import small_model

THEME = Theme("controls")
COUNT = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
CHAIN_LENGTH = 100_000


def accepted(answer: np.ndarray, saved_as: str = "y", feeds=None, **expectations):
    feeds = {"x": COUNT} if feeds is None else feeds
    return THEME.case(
        feeds=feeds,
        run=ACCEPTED,
        inspect=ACCEPTED,
        answers={f"{saved_as}.npy": answer},
        **expectations,
    )


@accepted(np.maximum(COUNT, 0))
def hand_encoded_relu(folder):
    return model(graph(node(b"Relu", [b"x"], [b"y"])))


# Nine ones under each kernel, in two channels of two by two, then eight of those and a bias of one.
@accepted(np.full((1, 3), 8 * 9 + 1, np.float32), feeds={"x": f32(1, 1, 4, 4)})
def the_model_that_is_truncated(folder):
    return small_model()


@accepted(COUNT, cpu_seconds=5.0)
def identity_chain_of_100000_nodes(folder):
    names = [b"x", *(b"v%d" % i for i in range(1, CHAIN_LENGTH)), b"y"]
    return model(graph(*(node(b"Identity", [a], [b]) for a, b in zip(names, names[1:]))))


@accepted(f32(4), feeds=X)
def external_data_in_a_subfolder(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "w.bin").write_bytes(SIXTEEN_BYTES)
    return external_model(location="sub/w.bin")


@accepted(f32(4), feeds=X)
def external_data_at_an_odd_offset(folder):
    (folder / "w.bin").write_bytes(b"abc" + SIXTEEN_BYTES + b"d")
    return external_model(location="w.bin", offset=3, length=16)


@accepted(np.maximum(COUNT, 0))
def function_called_once(folder):
    return function_model(CALL_F, function("F", [RELU]))


@accepted(-COUNT)
def branch_chosen_by_a_constant(folder):
    choice = helper.make_node("If", ["c"], ["y"], then_branch=THEN, else_branch=ELSE)
    return make_model([choice], {"x": f32(2, 3)}, {"c": np.array(False)}).SerializeToString()


@accepted(COUNT.reshape(3, 2))
def reshape_with_one_wildcard(folder):
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"])]
    return make_model(nodes, {"x": COUNT}, {"s": i64(3, -1)}).SerializeToString()


@accepted(np.zeros((0, 3), np.float32), feeds={"x": np.zeros((0, 3), np.float32)})
def empty_tensor(folder):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    return make_model(nodes, {"x": np.zeros((0, 3), np.float32)}).SerializeToString()


# The name of an output becomes the name of a file; it must not choose the folder.
@accepted(np.maximum(COUNT, 0), saved_as=".._.._escape")
def output_name_that_climbs_out_of_the_folder(folder):
    nodes = [helper.make_node("Relu", ["x"], ["../../escape"])]
    return make_model(nodes, {"x": COUNT}, outputs={"../../escape": np.float32}).SerializeToString()
