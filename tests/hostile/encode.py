"""A tiny protobuf encoder for messages that the protobuf library would refuse to write.

Field numbers are those of onnx.proto; the named constants below are all this corpus needs.
"""

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)

MODEL_IR_VERSION, MODEL_GRAPH, MODEL_OPSET_IMPORT, MODEL_FUNCTIONS = 1, 7, 8, 25
OPSET_DOMAIN, OPSET_VERSION = 1, 2
FUNCTION_NAME, FUNCTION_INPUT, FUNCTION_OUTPUT, FUNCTION_NODE = 1, 4, 5, 7
FUNCTION_OPSET_IMPORT, FUNCTION_DOMAIN, FUNCTION_ATTRIBUTE_PROTO = 9, 10, 11
GRAPH_NODE, GRAPH_NAME, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 1, 2, 5, 11, 12
NODE_INPUT, NODE_OUTPUT, NODE_NAME, NODE_OP_TYPE, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 3, 4, 5, 7
ATTRIBUTE_NAME, ATTRIBUTE_I, ATTRIBUTE_GRAPH, ATTRIBUTE_TYPE = 1, 3, 6, 20
ATTRIBUTE_IS_INT, ATTRIBUTE_IS_GRAPH = 2, 5
TENSOR_DIMS, TENSOR_DATA_TYPE, TENSOR_FLOAT_DATA, TENSOR_NAME, TENSOR_RAW_DATA = 1, 2, 4, 8, 9
FLOAT, BOOL = 1, 9


def varint(number: int) -> bytes:
    number &= 2**64 - 1  # protobuf writes negative numbers as their 64-bit two's complement
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def integer(field: int, number: int) -> bytes:
    return tag(field, VARINT) + varint(number)


def chunk(field: int, payload: bytes) -> bytes:
    return tag(field, BYTES) + varint(len(payload)) + payload


def nest(heads: list[tuple[int, bytes]], core: bytes) -> bytes:
    """Messages inside messages: heads[i] = (field, bytes that precede that field in its message).

    Built from the inside out, but joined once: copying at each of 10,000 levels would be quadratic.
    """
    parts = [core]
    length = len(core)
    for field, before in reversed(heads):
        head = before + tag(field, BYTES) + varint(length)
        parts.append(head)
        length += len(head)
    return b"".join(reversed(parts))


def value_info(name: bytes, dims, element_type: int = FLOAT) -> bytes:
    shape = b"".join(chunk(1, integer(1, dim)) for dim in dims)
    return chunk(1, name) + chunk(2, chunk(1, integer(1, element_type) + chunk(2, shape)))


def node(op_type: bytes, inputs: list[bytes], outputs: list[bytes], name: bytes = b"") -> bytes:
    return (
        b"".join(chunk(NODE_INPUT, i) for i in inputs)
        + b"".join(chunk(NODE_OUTPUT, o) for o in outputs)
        + (chunk(NODE_NAME, name) if name else b"")
        + chunk(NODE_OP_TYPE, op_type)
    )


def graph(*nodes: bytes, extra: bytes = b"", dims=(2, 3)) -> bytes:
    """A graph from `x` to `y`, both floats of one shape, around the given encoded nodes."""
    return (
        b"".join(chunk(GRAPH_NODE, n) for n in nodes)
        + chunk(GRAPH_NAME, b"g")
        + extra
        + chunk(GRAPH_INPUT, value_info(b"x", dims))
        + chunk(GRAPH_OUTPUT, value_info(b"y", dims))
    )


def preamble() -> bytes:
    return integer(MODEL_IR_VERSION, 8) + chunk(MODEL_OPSET_IMPORT, integer(OPSET_VERSION, 17))


def model(graph_bytes: bytes) -> bytes:
    return preamble() + chunk(MODEL_GRAPH, graph_bytes)
