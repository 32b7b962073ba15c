"""Bytes that are no protobuf, or protobuf that lies about its own lengths and nesting."""

import gzip
import random
from functools import cache

import numpy as np
import onnx
from onnx import helper

from case import EITHER, MODEL_FILE, REFUSED, Theme, f32, make_model, value
from encode import (
    ATTRIBUTE_GRAPH,
    ATTRIBUTE_IS_GRAPH,
    ATTRIBUTE_NAME,
    ATTRIBUTE_TYPE,
    BYTES,
    END_GROUP,
    FIXED32,
    FLOAT,
    GRAPH_INITIALIZER,
    GRAPH_INPUT,
    GRAPH_NODE,
    MODEL_GRAPH,
    NODE_ATTRIBUTE,
    NODE_INPUT,
    NODE_OP_TYPE,
    START_GROUP,
    TENSOR_DATA_TYPE,
    TENSOR_DIMS,
    TENSOR_FLOAT_DATA,
    TENSOR_NAME,
    TENSOR_RAW_DATA,
    chunk,
    graph,
    integer,
    model,
    nest,
    node,
    preamble,
    tag,
    value_info,
    varint,
)

THEME = Theme("wire")
TEN_MILLION = 10_000_000
RELU = node(b"Relu", [b"x"], [b"y"])
IDENTITY_OF_W = node(b"Identity", [b"w"], [b"y"])


def with_initializer(tensor: bytes) -> bytes:
    return model(graph(IDENTITY_OF_W, extra=chunk(GRAPH_INITIALIZER, tensor)))


@THEME.case()
def empty_file(folder):
    return b""


@THEME.case()
def plain_text(folder):
    return b"This is not a model.\n" * 40


@THEME.case()
def png_header(folder):
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64)


@THEME.case()
def gzip_stream(folder):
    return gzip.compress(model(graph(RELU)), mtime=0)


@THEME.case()
def zeros(folder):
    return bytes(4096)


@THEME.case()
def all_bits_set(folder):
    return b"\xff" * 4096


@THEME.case()
def random_bytes(folder):
    return random.Random(1).randbytes(4096)


@THEME.case()
def one_byte(folder):
    return tag(MODEL_GRAPH, BYTES)


@THEME.case()
def no_graph(folder):
    return preamble()


@THEME.case()
def garbage_after_a_valid_model(folder):
    return model(graph(RELU)) + b"\xff" * 16


@THEME.case()
def length_prefix_larger_than_file(folder):
    return preamble() + tag(MODEL_GRAPH, BYTES) + varint(1 << 30) + graph(RELU)


@THEME.case()
def length_prefix_of_all_bits(folder):
    return preamble() + tag(MODEL_GRAPH, BYTES) + varint(-1) + graph(RELU)


@THEME.case()
def length_prefix_of_the_largest_signed_number(folder):
    return preamble() + tag(MODEL_GRAPH, BYTES) + varint(2**63 - 1) + graph(RELU)


@THEME.case()
def child_longer_than_its_parent(folder):
    """The node claims bytes that are in the file, but belong to the fields after its graph."""
    overlong = tag(GRAPH_NODE, BYTES) + varint(len(RELU) + 64) + RELU
    return preamble() + chunk(MODEL_GRAPH, overlong) + chunk(6, b"d" * 256)


@THEME.case()
def ten_million_nodes_claimed_but_absent(folder):
    size = TEN_MILLION * len(chunk(GRAPH_NODE, RELU))
    return preamble() + tag(MODEL_GRAPH, BYTES) + varint(size) + chunk(GRAPH_NODE, RELU)


def write_ten_million(folder, item: bytes, before: bytes, after: bytes) -> None:
    """Writes a model whose graph is `before`, ten million items and `after`, a piece at a time: the
    harness must stay small, because a child's peak memory is never reported below its parent's.
    """
    pieces = 100
    size = len(before) + len(item) * TEN_MILLION + len(after)
    with open(folder / MODEL_FILE, "wb") as file:
        file.write(preamble() + tag(MODEL_GRAPH, BYTES) + varint(size) + before)
        for _ in range(pieces):
            file.write(item * (TEN_MILLION // pieces))
        file.write(after)


@THEME.case()
def ten_million_empty_nodes(folder):
    """Twenty megabytes that a reader with 100 bytes per node would turn into a gigabyte."""
    write_ten_million(folder, chunk(GRAPH_NODE, b""), b"", graph(RELU))


@THEME.case()
def ten_million_empty_initializers(folder):
    write_ten_million(folder, chunk(GRAPH_INITIALIZER, b""), b"", graph(RELU))


@THEME.case()
def ten_million_empty_inputs_of_a_node(folder):
    item = chunk(NODE_INPUT, b"")
    size = varint(len(item) * TEN_MILLION + len(RELU))
    write_ten_million(folder, item, tag(GRAPH_NODE, BYTES) + size, RELU + graph())


@THEME.case()
def ten_million_dims(folder):
    rest = (
        integer(TENSOR_DATA_TYPE, FLOAT)
        + chunk(TENSOR_NAME, b"w")
        + chunk(TENSOR_RAW_DATA, bytes(4))
    )
    dims = tag(TENSOR_DIMS, BYTES) + varint(TEN_MILLION)
    tensor_size = varint(len(dims) + TEN_MILLION + len(rest))
    before = tag(GRAPH_INITIALIZER, BYTES) + tensor_size + dims
    write_ten_million(folder, b"\x01", before, rest + graph(IDENTITY_OF_W))


@THEME.case()
def varint_of_eleven_bytes(folder):
    return tag(1, 0) + b"\x80" * 10 + b"\x01" + model(graph(RELU))


@THEME.case()
def varint_without_end(folder):
    return model(graph(RELU)) + tag(5, 0) + b"\x80"


@THEME.case()
def group_without_end(folder):
    return model(graph(RELU)) + tag(200, START_GROUP) + integer(1, 1)


@THEME.case()
def group_end_without_start(folder):
    return model(graph(RELU)) + tag(200, END_GROUP)


@THEME.case()
def group_ended_by_another(folder):
    return model(graph(RELU)) + tag(200, START_GROUP) + tag(201, END_GROUP)


@THEME.case()
def groups_nested_100000_deep(folder):
    return model(graph(RELU)) + tag(9, START_GROUP) * 100_000 + tag(9, END_GROUP) * 100_000


@THEME.case()
def wire_type_six(folder):
    return tag(100, 6) + model(graph(RELU))


@THEME.case()
def wire_type_seven(folder):
    return tag(100, 7) + model(graph(RELU))


@THEME.case()
def field_number_zero(folder):
    return integer(0, 1) + model(graph(RELU))


@THEME.case()
def field_number_beyond_29_bits(folder):
    return integer(1 << 29, 1) + model(graph(RELU))


@THEME.case()
def graph_as_a_number(folder):
    return preamble() + integer(MODEL_GRAPH, 1)


@THEME.case()
def operator_name_as_a_number(folder):
    anonymous = chunk(1, b"x") + chunk(2, b"y") + integer(NODE_OP_TYPE, 7)
    return model(graph(anonymous))


@THEME.case()
def dims_as_fixed32(folder):
    dims = (tag(TENSOR_DIMS, FIXED32) + (3).to_bytes(4, "little")) * 2
    return with_initializer(
        dims
        + integer(TENSOR_DATA_TYPE, FLOAT)
        + chunk(TENSOR_NAME, b"w")
        + chunk(TENSOR_RAW_DATA, bytes(36))
    )


@THEME.case()
def raw_data_as_a_number(folder):
    return with_initializer(
        integer(TENSOR_DIMS, 2)
        + integer(TENSOR_DATA_TYPE, FLOAT)
        + chunk(TENSOR_NAME, b"w")
        + integer(TENSOR_RAW_DATA, 0x3F800000)
    )


@THEME.case()
def packed_dims_cut_inside_a_varint(folder):
    return with_initializer(
        chunk(TENSOR_DIMS, b"\x02\x83")
        + integer(TENSOR_DATA_TYPE, FLOAT)
        + chunk(TENSOR_NAME, b"w")
        + chunk(TENSOR_RAW_DATA, bytes(24))
    )


@THEME.case()
def packed_floats_cut_inside_a_float(folder):
    return with_initializer(
        integer(TENSOR_DIMS, 2)
        + integer(TENSOR_DATA_TYPE, FLOAT)
        + chunk(TENSOR_FLOAT_DATA, bytes(7))
        + chunk(TENSOR_NAME, b"w")
    )


@THEME.case()
def attribute_graphs_nested_10000_deep(folder):
    attribute = chunk(ATTRIBUTE_NAME, b"body") + integer(ATTRIBUTE_TYPE, ATTRIBUTE_IS_GRAPH)
    levels = [(GRAPH_NODE, b""), (NODE_ATTRIBUTE, RELU), (ATTRIBUTE_GRAPH, attribute)]
    return model(nest(levels * 10_000, graph(RELU)))


@THEME.case()
def sequence_types_nested_10000_deep(folder):
    type_proto, sequence = 4, 1
    deep = nest([(type_proto, b""), (sequence, b"")] * 10_000, chunk(1, integer(1, FLOAT)))
    return model(graph(RELU, extra=chunk(GRAPH_INPUT, chunk(1, b"s") + chunk(2, deep))))


@THEME.case()
def graph_input_without_a_name(folder):
    return model(graph(RELU, extra=chunk(GRAPH_INPUT, value_info(b"", (2, 3)))))


@cache
def small_model() -> bytes:
    """Conv, Relu, Flatten and Gemm, followed by an optional field that a prefix may lack."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[3, 3]),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("Flatten", ["r"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "m", "b"], ["y"], "gemm", transB=1),
    ]
    constants = {"w": f32(2, 1, 3, 3), "m": f32(3, 8), "b": f32(3)}
    proto = make_model(nodes, {"x": f32(1, 1, 4, 4)}, constants)
    proto.graph.output[0].CopyFrom(value("y", np.float32, [1, 3]))  # onnx.checker wants a shape
    helper.set_model_props(proto, {"origin": "hostile corpus"})
    return proto.SerializeToString()


def onnx_accepts(prefix: bytes) -> bool:
    try:
        onnx.checker.check_model(onnx.load_model_from_string(prefix))
    except Exception:  # the protobuf library and the checker raise unrelated types
        return False
    return True


def add_truncations() -> None:
    """A cut may only be answered where the prefix is, by chance, a complete valid model."""
    whole = small_model()
    for cut in range(len(whole)):
        prefix = whole[:cut]
        expected = EITHER if onnx_accepts(prefix) else REFUSED
        THEME.add(
            f"truncated_at_byte_{cut:04}",
            lambda folder, prefix=prefix: prefix,
            feeds={"x": np.ones((1, 1, 4, 4), np.float32)},
            run=expected,
            inspect=expected,
        )


add_truncations()
