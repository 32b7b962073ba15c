#!/usr/bin/python3
"""Writes the seeds of the importer's fuzzers: tiny valid models that between them reach most
operators, most opsets, and every way to store a tensor, a subgraph or a function. The bytes are the
same on every run.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
from onnx.mapping import NP_TYPE_TO_TENSOR_TYPE

FOLDER = Path(__file__).parent / "corpus" / "import"
SEED_BYTES = 2000
CORPUS_BYTES = 40_000
# The newest opset that the installed checker knows; later seeds are valid by the ONNX changelog.
CHECKED_OPSET = onnx.defs.onnx_opset_version()

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
UINT8, INT8, INT32, BOOL = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.BOOL
SEEDS: dict[str, ModelProto] = {}

node = helper.make_node


def f32(*shape: int) -> np.ndarray:
    """Distinct small values, so that a mutated index shows in the answer."""
    return (np.arange(np.prod(shape, dtype=int)) % 7 - 3).reshape(shape).astype(np.float32) / 4


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def seed(name: str, opset: int, nodes, inputs, outputs, constants=None) -> ModelProto:
    """`inputs` and `outputs` map names to (type, shape); a bare shape is one of floats."""

    def infos(values):
        typed = {n: v if isinstance(v, tuple) else (FLOAT, v) for n, v in values.items()}
        return [
            helper.make_tensor_value_info(n, dtype, shape) for n, (dtype, shape) in typed.items()
        ]

    tensors = [numpy_helper.from_array(array, n) for n, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), tensors)
    ir_version = 3 if opset < 9 else 8 if opset <= CHECKED_OPSET else 9
    if ir_version == 3:  # before IR version 4 every initializer had to be an input too
        graph.input.extend(
            helper.make_tensor_value_info(n, NP_TYPE_TO_TENSOR_TYPE[a.dtype], a.shape)
            for n, a in (constants or {}).items()
        )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, ir_version=ir_version, opset_imports=opsets)
    SEEDS[f"{name}_{opset}"] = model
    return model


def add_vision() -> None:
    seed(
        "conv_gemm",
        17,
        [
            node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            node("Relu", ["c"], ["r"], "relu"),
            node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
            node("Flatten", ["p"], ["f"], "flatten"),
            node("Gemm", ["f", "m"], ["g"], "gemm", transB=1),
            node("Softmax", ["g"], ["y"], "softmax", axis=1),
        ],
        {"x": [1, 1, 4, 4]},
        {"y": [1, 3]},
        {"w": f32(2, 1, 3, 3), "b": f32(2), "m": f32(3, 8)},
    )
    seed(
        "depthwise",
        13,
        [
            node("Conv", ["x", "w"], ["c"], group=2, auto_pad="SAME_UPPER", strides=[2, 2]),
            node("BatchNormalization", ["c", "s", "b", "b", "v"], ["n"], epsilon=1e-3),
            node("Clip", ["n", "", "six"], ["k"]),
            node("GlobalAveragePool", ["k"], ["y"]),
        ],
        {"x": [1, 2, 5, 5]},
        {"y": [1, 2, 1, 1]},
        {"w": f32(2, 1, 3, 3), "s": f32(2), "b": f32(2), "v": f32(2) + 2, "six": np.float32(6)},
    )
    seed(
        "old_pools",
        7,
        [
            node(
                "AveragePool",
                ["x"],
                ["a"],
                kernel_shape=[2, 2],
                count_include_pad=1,
                pads=[1, 1, 0, 0],
            ),
            node("LRN", ["a"], ["l"], size=3),
            node("Dropout", ["l"], ["d"], ratio=0.5),
            node("Upsample", ["d"], ["u"], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0]),
            node("Reshape", ["u", "s"], ["y"]),
        ],
        {"x": [1, 2, 3, 3]},
        {"y": [1, 72]},
        {"s": i64(0, -1)},
    )


def add_resampling() -> None:
    seed(
        "conv_transpose",
        11,
        [
            node("ConvTranspose", ["x", "w"], ["t"], strides=[2, 2], output_padding=[1, 1]),
            node("Pad", ["t", "p"], ["q"], mode="reflect"),
            node("LeakyRelu", ["q"], ["y"], alpha=0.1),
        ],
        {"x": [1, 1, 2, 2]},
        {"y": [1, 1, 8, 8]},
        {"w": f32(1, 1, 3, 3), "p": i64(0, 0, 1, 1, 0, 0, 1, 1)},
    )
    seed(
        "resize",
        13,
        [
            node(
                "Resize",
                ["x", "", "s"],
                ["a"],
                mode="linear",
                coordinate_transformation_mode="align_corners",
            ),
            node("Resize", ["a", "", "", "z"], ["b"], mode="cubic"),
            node("DepthToSpace", ["b"], ["c"], blocksize=2, mode="CRD"),
            node("SpaceToDepth", ["c"], ["y"], blocksize=2),
        ],
        {"x": [1, 4, 2, 2]},
        {"y": [1, 4, 3, 3]},
        {"s": np.array([1, 1, 2, 2], np.float32), "z": i64(1, 4, 3, 3)},
    )
    seed(
        "detection",
        16,
        [
            node("GridSample", ["x", "grid"], ["s"], padding_mode="border"),
            node("RoiAlign", ["s", "rois", "batch"], ["y"], output_height=2, output_width=2),
            node("NonMaxSuppression", ["boxes", "scores", "count", "iou"], ["kept"]),
        ],
        {"x": [1, 1, 3, 3], "boxes": [1, 2, 4]},
        {"y": [1, 1, 2, 2], "kept": (INT64, ["k", 3])},
        {
            "grid": f32(1, 3, 3, 2),
            "rois": np.array([[0, 0, 2, 2]], np.float32),
            "batch": i64(0),
            "scores": np.ones((1, 1, 2), np.float32),
            "count": i64(2),
            "iou": np.array([0.5], np.float32),
        },
    )
    seed(
        "conv_3d",
        12,
        [
            node("Conv", ["x", "w"], ["c"], dilations=[1, 2, 1]),
            node("MaxPool", ["c"], ["y", "i"], kernel_shape=[1, 1, 2], ceil_mode=1),
        ],
        {"x": [1, 1, 2, 3, 4]},
        {"y": [1, 1, 1, 1, 2], "i": (INT64, [1, 1, 1, 1, 2])},
        {"w": f32(1, 1, 2, 2, 2)},
    )


def add_shapes() -> None:
    seed(
        "shape_arithmetic",
        14,
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"], axis=0),
            node("Mul", ["n", "two"], ["m"]),
            node("Unsqueeze", ["m", "axis"], ["u"]),
            node("Concat", ["u", "minus"], ["t"], axis=0),
            node("Reshape", ["x", "t"], ["y"]),
        ],
        {"x": ["batch", 4]},
        {"y": ["rows", 2]},
        {"zero": np.int64(0), "two": np.int64(2), "axis": i64(0), "minus": i64(-1)},
    )
    seed(
        "slice_attributes",
        9,
        [
            node("Slice", ["x"], ["a"], starts=[0, 1], ends=[2, 100], axes=[0, 1]),
            node("Transpose", ["a"], ["b"], perm=[1, 0]),
            node("Squeeze", ["v"], ["c"], axes=[0]),
            node("Unsqueeze", ["c"], ["d"], axes=[0, 2]),
            node("Split", ["b"], ["e", "f"], axis=0, split=[1, 2]),
            node("Pad", ["f"], ["y"], pads=[0, 1, 0, 0], value=0.5),
        ],
        {"x": [3, 4], "v": [1, 2]},
        {"y": [2, 3], "d": [1, 2, 1], "e": [1, 2]},
    )
    seed(
        "slice_inputs",
        13,
        [
            node("Slice", ["x", "from", "to", "axes", "step"], ["a"]),
            node("Split", ["a", "sizes"], ["b", "c"], axis=1),
            node("Tile", ["b", "repeats"], ["d"]),
            node("Expand", ["c", "shape"], ["e"]),
            node("Concat", ["d", "e"], ["y"], axis=-1),
        ],
        {"x": [2, 6]},
        {"y": [2, 4]},
        {
            "from": i64(-1),
            "to": i64(-100),
            "axes": i64(1),
            "step": i64(-2),
            "sizes": i64(1, 2),
            "repeats": i64(1, 2),
            "shape": i64(2, 1),
        },
    )


def add_gathers() -> None:
    seed(
        "gather_scatter",
        16,
        [
            node("GatherElements", ["x", "i"], ["a"], axis=1),
            node("GatherND", ["x", "nd"], ["b"]),
            node("ScatterElements", ["x", "i", "a"], ["c"], axis=1, reduction="add"),
            node("ScatterND", ["c", "nd", "b"], ["y"]),
        ],
        {"x": [2, 3]},
        {"y": [2, 3]},
        {"i": i64(0, 2, 1, -1).reshape(2, 2), "nd": i64(1, 0, 0, 2).reshape(2, 2)},
    )
    seed(
        "generators",
        15,
        [
            node("Range", ["start", "limit", "delta"], ["r"]),
            node("OneHot", ["r", "depth", "pair"], ["o"], axis=0),
            node("EyeLike", ["o"], ["e"], k=1),
            node("ConstantOfShape", ["s"], ["z"], value=helper.make_tensor("v", FLOAT, [1], [0.5])),
            node("Trilu", ["z", "k"], ["t"], upper=0),
            node("Add", ["e", "x"], ["y"]),
        ],
        {"x": [3]},
        {"y": [4, 3], "t": [2, 2]},
        {
            "start": np.int64(0),
            "limit": np.int64(3),
            "delta": np.int64(1),
            "depth": np.int64(4),
            "pair": np.array([0, 1], np.float32),
            "s": i64(2, 2),
            "k": np.int64(0),
        },
    )
    seed(
        "selection",
        11,
        [
            node("TopK", ["x", "k"], ["v", "i"], axis=1, largest=0),
            node("NonZero", ["x"], ["z"]),
            node("CumSum", ["v", "axis"], ["c"], reverse=1),
            node("Compress", ["c", "which"], ["y"], axis=0),
            node("Unique", ["x"], ["u"], sorted=1),
        ],
        {"x": [2, 3]},
        {"y": ["n", 2], "i": (INT64, [2, 2]), "z": (INT64, [2, "m"]), "u": ["p"]},
        {"k": i64(2), "axis": np.int32(1), "which": np.array([False, True])},
    )


def add_arithmetic() -> None:
    unary = "Exp Neg Sqrt Sigmoid Tanh Erf Abs Floor Softplus Elu Selu HardSwish Mish".split()
    chain = [node(op, [f"v{i}"], [f"v{i + 1}"]) for i, op in enumerate(unary)]
    seed("unary", 18, chain, {"v0": [2, 2]}, {f"v{len(unary)}": [2, 2]})
    seed(
        "compare",
        12,
        [
            node("Greater", ["x", "h"], ["g"]),
            node("Not", ["g"], ["n"]),
            node("Or", ["g", "n"], ["o"]),
            node("Where", ["o", "x", "h"], ["w"]),
            node("Mod", ["w", "h"], ["m"], fmod=1),
            node("Max", ["m", "x", "h"], ["q"]),
            node("Pow", ["q", "two"], ["p"]),
            node("Cast", ["p"], ["y"], to=INT64),
        ],
        {"x": [2, 2]},
        {"y": (INT64, [2, 2])},
        {"h": np.float32(0.75), "two": np.int32(2)},
    )


def add_reductions() -> None:
    seed(
        "reduce",
        13,
        [
            node("ReduceSum", ["x", "axes"], ["a"], keepdims=0),
            node("ReduceMean", ["x"], ["b"], axes=[-1], keepdims=0),
            node("ReduceLogSumExp", ["x"], ["c"], axes=[1], keepdims=0),
            node("ArgMax", ["x"], ["i"], axis=1, select_last_index=1),
            node("Sum", ["a", "b", "c"], ["y"]),
        ],
        {"x": [2, 3]},
        {"y": [2], "i": (INT64, [2, 1])},
        {"axes": i64(1)},
    )
    seed(
        "reduce_axes_input",
        18,
        [
            node("ReduceMean", ["x", "axes"], ["a"], keepdims=1),
            node("Split", ["a"], ["b", "c"], axis=1, num_outputs=2),
            node("ReduceMax", ["c"], ["d"], noop_with_empty_axes=1),
            node("Add", ["b", "d"], ["y"]),
        ],
        {"x": [2, 4]},
        {"y": [1, 2]},
        {"axes": i64(0)},
    )
    seed(
        "einsum_matmul",
        12,
        [
            node("MatMul", ["x", "w"], ["m"]),
            node("Einsum", ["m", "v"], ["y"], equation="bij,jk->bik"),
        ],
        {"x": [2, 2, 3]},
        {"y": [2, 2, 1]},
        {"w": f32(3, 4), "v": f32(4, 1)},
    )
    seed(
        "attention",
        17,
        [
            node("LayerNormalization", ["x", "s", "b"], ["n"], axis=-1),
            node("MatMul", ["n", "wq"], ["q"]),
            node("Transpose", ["q"], ["k"], perm=[0, 2, 1]),
            node("MatMul", ["q", "k"], ["a"]),
            node("Div", ["a", "scale"], ["d"]),
            node("Softmax", ["d"], ["p"]),
            node("MatMul", ["p", "n"], ["y"]),
        ],
        {"x": ["batch", "tokens", 4]},
        {"y": ["batch", "tokens", 4]},
        {"s": f32(4), "b": f32(4), "wq": f32(4, 4), "scale": np.float32(2)},
    )
    seed(
        "newest",
        21,
        [
            node("GroupNormalization", ["x", "s", "b"], ["g"], num_groups=2),
            node("Gelu", ["g"], ["e"], approximate="tanh"),
            node("Resize", ["e", "", "", "z"], ["r"], axes=[2, 3], antialias=1, mode="linear"),
            node("Pad", ["r", "p", "", "ax"], ["y"], mode="edge"),
        ],
        {"x": [1, 4, 4, 4]},
        {"y": [1, 4, 2, 4]},
        {"s": f32(4), "b": f32(4), "z": i64(2, 2), "p": i64(1, 1), "ax": i64(3)},
    )


def add_sequences_and_quantised() -> None:
    seed(
        "lstm",
        14,
        [
            node(
                "LSTM",
                ["x", "w", "r", "", "", "h"],
                ["y", "", "c"],
                hidden_size=2,
                direction="reverse",
            )
        ],
        {"x": [2, 1, 2]},
        {"y": [2, 1, 1, 2], "c": [1, 1, 2]},
        {"w": f32(1, 8, 2), "r": f32(1, 8, 2), "h": f32(1, 1, 2)},
    )
    seed(
        "gru",
        7,
        [
            node(
                "GRU",
                ["x", "w", "r"],
                ["y"],
                hidden_size=2,
                direction="bidirectional",
                linear_before_reset=1,
            )
        ],
        {"x": [2, 1, 2]},
        {"y": [2, 2, 1, 2]},
        {"w": f32(2, 6, 2), "r": f32(2, 6, 2)},
    )
    seed(
        "qdq",
        13,
        [
            node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
            node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=1),
            node("DynamicQuantizeLinear", ["d"], ["dq", "ds", "dz"]),
            node("MatMulInteger", ["dq", "w", "dz"], ["y"]),
        ],
        {"x": [2, 3]},
        {"y": (INT32, [2, 2]), "ds": []},
        {
            "s": np.array([0.5, 0.25, 1], np.float32),
            "z": np.array([1, 2, 3], np.uint8),
            "w": np.arange(-3, 3, dtype=np.int8).reshape(3, 2),
        },
    )
    one, zero = np.float32(0.5), np.uint8(3)
    seed(
        "qlinear_conv",
        10,
        [
            node(
                "QLinearConv",
                ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"],
                ["c"],
                pads=[1, 1, 1, 1],
            ),
            node("ConvInteger", ["c", "w", "yz", "wz"], ["y"]),
        ],
        {"x": (UINT8, [1, 1, 3, 3])},
        {"y": (INT32, [1, 1, 1, 1])},
        {
            **{"xs": one, "xz": zero, "ws": one, "wz": zero, "ys": one, "yz": zero},
            "w": np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3),
        },
    )


def add_storage() -> None:
    """Not what is computed, but how it is written down."""
    typed = seed("typed_data", 13, [], {"x": [2]}, {"y": [2]})
    typed.graph.initializer.extend(
        [
            helper.make_tensor("f", FLOAT, [2], [1, 2]),
            helper.make_tensor("d", TensorProto.DOUBLE, [2], [1, 2]),
            helper.make_tensor("h", TensorProto.FLOAT16, [2], [1, 2]),
            TensorProto(
                name="b", data_type=TensorProto.BFLOAT16, dims=[2], int32_data=[0x3F80, 0x4000]
            ),
            helper.make_tensor("i", INT8, [2], [-1, 1]),
            helper.make_tensor("l", INT64, [2], [1, 2]),
            helper.make_tensor("t", BOOL, [2], [True, False]),
        ]
    )
    names = [tensor.name for tensor in typed.graph.initializer]
    typed.graph.node.extend(node("Cast", [n], [f"{n}_f"], to=FLOAT) for n in names)
    typed.graph.node.append(node("Sum", ["x", *(f"{n}_f" for n in names)], ["y"]))

    sparse = seed("sparse", 17, [node("Sum", ["x", "v", "w"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]})
    for name, places in {"v": i64(1, 5), "w": i64(0, 1, 1, 2).reshape(2, 2)}.items():
        tensor = sparse.graph.sparse_initializer.add(dims=[2, 3])
        tensor.values.CopyFrom(numpy_helper.from_array(f32(2), name))
        tensor.indices.CopyFrom(numpy_helper.from_array(places, ""))

    constants = seed(
        "constant_nodes",
        13,
        [
            node("Constant", [], ["a"], value_float=1.5),
            node("Constant", [], ["b"], value_floats=[1.0, 2.0]),
            node("Constant", [], ["i"], value_ints=[2]),
            node("Constant", [], ["t"], value=numpy_helper.from_array(f32(2))),
            node("Reshape", ["t", "i"], ["r"]),
            node("Sum", ["x", "a", "b", "r"], ["y"], "sum", doc_string="adds"),
        ],
        {"x": [2]},
        {"y": [2]},
    )
    helper.set_model_props(constants, {"task": "seed"})
    constants.graph.value_info.append(helper.make_tensor_value_info("r", FLOAT, [2]))

    def branch(op: str):
        result = helper.make_tensor_value_info("b", FLOAT, [2])
        return helper.make_graph([node(op, ["x"], ["b"])], op, [], [result])

    seed(
        "constant_if",
        13,
        [node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))],
        {"x": [2]},
        {"y": [2]},
        {"c": np.array(True)},
    )

    leaky = node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(
        AttributeProto(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    )
    opsets = [helper.make_opsetid("", 16)]
    function = helper.make_function("local", "Bent", ["a"], ["b"], [leaky], opsets, ["slope"])
    calls = seed(
        "function",
        16,
        [
            node("Bent", ["x"], ["m"], domain="local", slope=0.1),
            node("Bent", ["m"], ["y"], domain="local", slope=0.2),
        ],
        {"x": [2]},
        {"y": [2]},
    )
    calls.opset_import.append(helper.make_opsetid("local", 1))
    calls.functions.append(function)


def check(model: ModelProto) -> None:
    if model.opset_import[0].version <= CHECKED_OPSET:
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def main() -> int:
    for add in (add_vision, add_resampling, add_shapes, add_gathers, add_arithmetic, add_reductions,
                add_sequences_and_quantised, add_storage):
        add()
    total = 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, model in SEEDS.items():
        check(model)
        data = model.SerializeToString(deterministic=True)
        if len(data) >= SEED_BYTES:
            sys.exit(f"{name} has {len(data)} bytes: too large for a seed")
        (FOLDER / f"{name}.onnx").write_bytes(data)
        total += len(data)
    if total >= CORPUS_BYTES:
        sys.exit(f"the corpus has {total} bytes: too large to keep")
    print(f"{len(SEEDS)} seeds, {total} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
