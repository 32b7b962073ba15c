"""A few bytes that ask for terabytes: each must be refused by arithmetic, never by trying."""

import numpy as np
from onnx import helper

from case import Theme, f32, i64, make_model
from operators import IMAGE, INT64, KERNEL, MATRIX, Given, refuse, scalar

THEME = Theme("sizes")
HUGE = 2**40


def huge(name: str, op_type: str, inputs, **options) -> None:
    refuse(name, op_type, inputs, theme=THEME, **options)


huge("expand", "Expand", [Given(f32(1)), i64(HUGE)])
huge("expand_that_overflows", "Expand", [Given(f32(1)), i64(2**32, 2**32)])
huge("tile", "Tile", [MATRIX, i64(HUGE, 1)])
huge("tile_that_overflows", "Tile", [MATRIX, i64(2**62, 2**62)])
huge("constant_of_shape", "ConstantOfShape", [i64(HUGE)])
huge("constant_of_shape_that_overflows", "ConstantOfShape", [i64(2**31, 2**31, 4)])
huge("range_of_ints", "Range", [i64(0)[0], i64(HUGE)[0], i64(1)[0]], outputs=INT64)
huge(
    "range_across_all_ints",
    "Range",
    [i64(-(2**63))[0], i64(2**63 - 1)[0], i64(1)[0]],
    outputs=INT64,
)
huge("range_of_floats", "Range", [scalar(0), scalar(1e30), scalar(1e-30)])
huge("range_to_infinity", "Range", [scalar(0), scalar(np.inf), scalar(1)])
huge("pad", "Pad", [MATRIX, i64(0, 0, HUGE, 0)])
huge("pad_that_overflows", "Pad", [MATRIX, i64(2**62, 0, 2**62, 0)])
huge("resize_by_scale", "Resize", [IMAGE, None, np.array([1, 1, 2**20, 2**20], np.float32)])
huge("resize_by_scale_beyond_int64", "Resize", [IMAGE, None, np.array([1, 1, 1e30, 1], np.float32)])
huge("resize_to_size", "Resize", [IMAGE, None, None, i64(1, 2, 2**20, 2**20)])
huge("upsample_attribute", "Upsample", [IMAGE], opset=7, scales=[1.0, 1.0, 1e30, 1e30])
huge("one_hot", "OneHot", [Given(i64(0, 1)), scalar(HUGE, np.int64), f32(2)])
huge("one_hot_of_a_float_depth", "OneHot", [Given(i64(0, 1)), scalar(1e30), f32(2)])
huge("random_normal", "RandomNormal", [], shape=[HUGE])
huge("hann_window", "HannWindow", [scalar(HUGE, np.int64)])
huge(
    "roi_align", "RoiAlign", [IMAGE, f32(1, 4), i64(0)], output_height=2**20, output_width=2**20
)
huge("conv_pads", "Conv", [IMAGE, KERNEL], pads=[2**20, 2**20, 2**20, 2**20])
huge("conv_transpose_stride", "ConvTranspose", [IMAGE, KERNEL], strides=[2**30, 2**30])
huge(
    "conv_transpose_output_shape", "ConvTranspose", [IMAGE, KERNEL], output_shape=[2**20, 2**20]
)
huge("pool_pads", "AveragePool", [IMAGE], kernel_shape=[2**30, 2**30], pads=[2**30 - 1] * 4)
huge("depth_to_space_block", "DepthToSpace", [IMAGE], blocksize=2**62)
huge(
    "lstm_hidden_size",
    "LSTM",
    [Given(f32(2, 1, 3)), f32(1, 16, 3), f32(1, 16, 4)],
    hidden_size=2**62,
)


def chain(name: str, nodes, feeds=None, constants=None) -> None:
    feeds = feeds or {}
    THEME.add(
        name, lambda folder: make_model(nodes, feeds, constants).SerializeToString(), feeds=feeds
    )


make = helper.make_node

chain(
    "eye_like_of_a_huge_constant",
    [make("ConstantOfShape", ["s"], ["m"]), make("EyeLike", ["m"], ["y"])],
    constants={"s": i64(2**20, 2**20)},
)
chain(
    "outer_sum_of_two_long_vectors",
    [
        make("ConstantOfShape", ["s"], ["a"]),
        make("ConstantOfShape", ["t"], ["b"]),
        make("Add", ["a", "b"], ["y"]),
    ],
    constants={"s": i64(2**20, 1), "t": i64(1, 2**20)},
)
chain(
    "outer_product_by_einsum",
    [make("Einsum", ["a"] * 6, ["y"], equation="a,b,c,d,e,f->abcdef")],
    {"a": f32(256)},
)
# Twenty nodes would give a megabyte, sixty give 2^62 bytes: no single step looks unusual.
chain(
    "doubling_sixty_times",
    [make("Concat", ["x", "x"], ["v1"], axis=0)]
    + [make("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], axis=0) for i in range(1, 60)]
    + [make("Identity", ["v60"], ["y"])],
    {"x": f32(1)},
)
chain(
    "shape_computed_from_constants",
    [make("Mul", ["s", "s"], ["t"]), make("ConstantOfShape", ["t"], ["y"])],
    constants={"s": i64(2**20)},
)
