"""Operators with attributes, shapes, types and constant inputs that they do not take.

Each case is one node in an otherwise well-formed model, and the refusal must name that node.
"""

from dataclasses import dataclass

import numpy as np
from onnx import helper

from case import EITHER, REFUSED, Theme, f32, i64, make_model

THEME = Theme("operators")
NODE_NAME = "culprit"


@dataclass(frozen=True)
class Given:
    """An input that comes with the request; a plain array is a constant of the model."""

    array: np.ndarray


def single_node(op_type: str, inputs, outputs, opset: int, attributes) -> tuple[bytes, dict]:
    """`inputs` holds arrays, Given arrays, or None for an optional input that is left out."""
    names = ["" if item is None else f"x{i}" for i, item in enumerate(inputs)]
    named = [(n, item) for n, item in zip(names, inputs) if n]
    feeds = {n: item.array for n, item in named if isinstance(item, Given)}
    constants = {n: item for n, item in named if not isinstance(item, Given)}
    results = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(op_type, names, results, NODE_NAME, **attributes)
    proto = make_model([node], feeds, constants, dict(zip(results, outputs)), opset)
    return proto.SerializeToString(), feeds


def refuse(
    name: str,
    op_type: str,
    inputs,
    *,
    theme=THEME,
    outputs=(np.float32,),
    opset=17,
    run=REFUSED,
    inspect=REFUSED,
    mentions=(NODE_NAME,),
    **attributes,
) -> None:
    model, feeds = single_node(op_type, inputs, outputs, opset, attributes)
    theme.add(
        name, lambda folder: model, feeds=feeds, run=run, inspect=inspect, mentions=mentions
    )


def u8(*shape: int) -> np.ndarray:
    return np.ones(shape, np.uint8)


def scalar(number, dtype=np.float32) -> np.ndarray:
    return np.array(number, dtype)


IMAGE = Given(f32(1, 2, 4, 4))
MATRIX = Given(f32(2, 3))
KERNEL = f32(2, 2, 3, 3)
INT64 = (np.int64,)
UINT8 = (np.uint8,)
TWO = (np.float32, np.float32)
TOP_K = (np.float32, np.int64)
NAN, INF = float("nan"), float("inf")

# Conv and ConvTranspose
refuse("conv_stride_zero", "Conv", [IMAGE, KERNEL], strides=[0, 0])
refuse("conv_stride_negative", "Conv", [IMAGE, KERNEL], strides=[-1, -1])
refuse("conv_strides_of_wrong_length", "Conv", [IMAGE, KERNEL], strides=[1])
refuse("conv_dilation_zero", "Conv", [IMAGE, KERNEL], dilations=[0, 0])
refuse("conv_dilation_negative", "Conv", [IMAGE, KERNEL], dilations=[-1, -1])
refuse("conv_dilation_huge", "Conv", [IMAGE, KERNEL], dilations=[2**62, 2**62])
refuse("conv_group_zero", "Conv", [IMAGE, KERNEL], group=0)
refuse("conv_group_negative", "Conv", [IMAGE, KERNEL], group=-1)
refuse("conv_group_that_does_not_divide", "Conv", [IMAGE, KERNEL], group=3)
refuse("conv_group_huge", "Conv", [IMAGE, KERNEL], group=2**62)
refuse("conv_weight_of_wrong_rank", "Conv", [IMAGE, f32(2, 2, 3)])
refuse("conv_weight_for_other_channels", "Conv", [IMAGE, f32(2, 5, 3, 3)])
refuse("conv_kernel_shape_of_wrong_rank", "Conv", [IMAGE, KERNEL], kernel_shape=[3])
refuse("conv_kernel_shape_against_weight", "Conv", [IMAGE, KERNEL], kernel_shape=[2, 2])
refuse("conv_kernel_larger_than_image", "Conv", [IMAGE, f32(2, 2, 9, 9)])
refuse("conv_bias_of_wrong_length", "Conv", [IMAGE, KERNEL, f32(7)])
refuse("conv_pads_of_wrong_length", "Conv", [IMAGE, KERNEL], pads=[1, 1])
refuse("conv_pads_negative", "Conv", [IMAGE, KERNEL], pads=[-9, -9, -9, -9])
refuse("conv_pads_huge", "Conv", [IMAGE, KERNEL], pads=[2**62] * 4)
refuse("conv_auto_pad_unknown", "Conv", [IMAGE, KERNEL], auto_pad="SIDEWAYS")
refuse("conv_of_a_scalar", "Conv", [Given(scalar(1)), KERNEL])
refuse(
    "conv_of_int64",
    "Conv",
    [Given(np.ones((1, 2, 4, 4), np.int64)), np.ones((2, 2, 3, 3), np.int64)],
    outputs=INT64,
)
refuse("conv_transpose_stride_zero", "ConvTranspose", [IMAGE, KERNEL], strides=[0, 0])
refuse("conv_transpose_group_zero", "ConvTranspose", [IMAGE, KERNEL], group=0)
refuse("conv_transpose_negative_output", "ConvTranspose", [IMAGE, KERNEL], pads=[9, 9, 9, 9])
refuse(
    "conv_transpose_output_shape_of_wrong_length",
    "ConvTranspose",
    [IMAGE, KERNEL],
    output_shape=[5],
)
refuse("conv_attribute_as_a_string", "Conv", [IMAGE, KERNEL], kernel_shape="3x3")
refuse("conv_attribute_as_floats", "Conv", [IMAGE, KERNEL], strides=[1.0, 1.0])
refuse(
    "conv_attribute_as_a_tensor",
    "Conv",
    [IMAGE, KERNEL],
    group=helper.make_tensor("t", 7, [1], [1]),
)

# Pools and other windows
refuse("pool_kernel_missing", "MaxPool", [IMAGE])
refuse("pool_kernel_zero", "MaxPool", [IMAGE], kernel_shape=[0, 0])
refuse("pool_kernel_negative", "AveragePool", [IMAGE], kernel_shape=[-2, -2])
refuse("pool_kernel_of_wrong_rank", "AveragePool", [IMAGE], kernel_shape=[2])
refuse("pool_kernel_larger_than_image", "MaxPool", [IMAGE], kernel_shape=[9, 9])
refuse("pool_stride_zero", "MaxPool", [IMAGE], kernel_shape=[2, 2], strides=[0, 0])
refuse("pool_pads_negative", "AveragePool", [IMAGE], kernel_shape=[2, 2], pads=[-9] * 4)
refuse("global_pool_of_a_vector", "GlobalAveragePool", [Given(f32(3))])
refuse("lrn_size_zero", "LRN", [IMAGE], size=0)
refuse(
    "batch_norm_scale_of_wrong_length",
    "BatchNormalization",
    [IMAGE, f32(7), f32(2), f32(2), f32(2)],
)
refuse("instance_norm_scale_of_wrong_length", "InstanceNormalization", [IMAGE, f32(7), f32(2)])
refuse("layer_norm_axis_out_of_range", "LayerNormalization", [MATRIX, f32(3)], axis=5)
refuse("depth_to_space_block_zero", "DepthToSpace", [IMAGE], blocksize=0)
refuse("depth_to_space_block_that_does_not_divide", "DepthToSpace", [IMAGE], blocksize=3)
refuse("space_to_depth_block_negative", "SpaceToDepth", [IMAGE], blocksize=-2)

# Shapes
refuse("reshape_to_another_count", "Reshape", [MATRIX, i64(4, 4)])
refuse("reshape_with_two_wildcards", "Reshape", [MATRIX, i64(-1, -1)])
refuse("reshape_with_negative_dim", "Reshape", [MATRIX, i64(-2, 3)])
refuse("reshape_that_does_not_divide", "Reshape", [MATRIX, i64(-1, 4)])
refuse("reshape_copying_a_dim_that_is_not_there", "Reshape", [MATRIX, i64(2, 3, 0)])
refuse("reshape_that_overflows", "Reshape", [MATRIX, i64(2**62, 4, 6)])
refuse("reshape_by_a_float", "Reshape", [MATRIX, f32(2)])
refuse("transpose_with_repeated_axis", "Transpose", [MATRIX], perm=[0, 0])
refuse("transpose_with_axis_out_of_range", "Transpose", [MATRIX], perm=[0, 2])
refuse("transpose_with_negative_axis", "Transpose", [MATRIX], perm=[0, -9])
refuse("transpose_of_wrong_length", "Transpose", [MATRIX], perm=[0])
refuse("flatten_axis_out_of_range", "Flatten", [MATRIX], axis=9)
refuse("squeeze_of_a_dim_that_is_not_one", "Squeeze", [MATRIX, i64(0)])
refuse("squeeze_axis_out_of_range", "Squeeze", [MATRIX, i64(7)])
refuse("unsqueeze_repeated_axis", "Unsqueeze", [MATRIX, i64(0, 0)])
refuse("unsqueeze_axis_out_of_range", "Unsqueeze", [MATRIX, i64(9)])
refuse("concat_of_different_ranks", "Concat", [MATRIX, f32(3)], axis=0)
refuse("concat_of_different_shapes", "Concat", [MATRIX, f32(2, 4)], axis=0)
refuse("concat_axis_out_of_range", "Concat", [MATRIX, f32(2, 3)], axis=2)
refuse("concat_without_axis", "Concat", [MATRIX, f32(2, 3)])
refuse("split_sizes_that_do_not_sum", "Split", [MATRIX, i64(1, 1)], outputs=TWO, axis=1)
refuse("split_sizes_negative", "Split", [MATRIX, i64(-1, 4)], outputs=TWO, axis=1)
refuse("split_that_does_not_divide", "Split", [MATRIX], outputs=TWO, axis=1)
refuse("split_sizes_for_more_outputs", "Split", [MATRIX, i64(1, 1, 1)], outputs=TWO, axis=1)
refuse("slice_step_zero", "Slice", [MATRIX, i64(0), i64(2), i64(0), i64(0)])
refuse("slice_axis_out_of_range", "Slice", [MATRIX, i64(0), i64(2), i64(5)])
refuse("slice_starts_and_ends_of_different_length", "Slice", [MATRIX, i64(0), i64(1, 1)])
refuse("pad_of_wrong_length", "Pad", [MATRIX, i64(1, 1)])
refuse("pad_that_removes_more_than_there_is", "Pad", [MATRIX, i64(-3, 0, 0, 0)])
refuse("pad_mode_unknown", "Pad", [MATRIX, i64(1, 1, 1, 1)], mode="sideways")
refuse("pad_value_of_another_type", "Pad", [MATRIX, i64(1, 1, 1, 1), i64(1)])
refuse("tile_of_wrong_length", "Tile", [MATRIX, i64(2)])
refuse("tile_negative", "Tile", [MATRIX, i64(-2, 1)])
refuse("expand_that_does_not_broadcast", "Expand", [MATRIX, i64(2, 4)])
refuse("expand_to_negative", "Expand", [MATRIX, i64(-3, 2, 3)])
refuse("constant_of_negative_shape", "ConstantOfShape", [i64(-4)])
refuse("range_without_step", "Range", [i64(0)[0], i64(4)[0], i64(0)[0]], outputs=INT64)
refuse("range_to_nan", "Range", [scalar(0), scalar(NAN), scalar(1)])
refuse("eye_like_of_a_vector", "EyeLike", [Given(f32(3))])
refuse("one_hot_depth_negative", "OneHot", [Given(i64(0, 1)), scalar(-3, np.int64), f32(2)])
refuse("one_hot_with_three_values", "OneHot", [Given(i64(0, 1)), scalar(3, np.int64), f32(3)])

# Indices that are constants of the model; a command that computes nothing may not look at them.
refuse("gather_index_out_of_range", "Gather", [MATRIX, i64(5)], inspect=EITHER)
refuse("gather_index_huge", "Gather", [MATRIX, i64(2**62)], inspect=EITHER)
refuse("gather_index_too_negative", "Gather", [MATRIX, i64(-3)], inspect=EITHER)
refuse("gather_index_of_floats", "Gather", [MATRIX, f32(1)])
refuse("gather_axis_out_of_range", "Gather", [MATRIX, i64(0)], axis=2)
refuse("gather_of_a_scalar", "Gather", [Given(scalar(1)), i64(0)])
refuse(
    "gather_elements_index_out_of_range",
    "GatherElements",
    [MATRIX, i64(9, 0, 0).reshape(1, 3)],
    inspect=EITHER,
)
refuse(
    "gather_nd_index_out_of_range", "GatherND", [MATRIX, i64(0, 9).reshape(1, 2)], inspect=EITHER
)
refuse("gather_nd_index_of_too_many_axes", "GatherND", [MATRIX, i64(0, 0, 0).reshape(1, 3)])
refuse(
    "scatter_elements_index_out_of_range",
    "ScatterElements",
    [MATRIX, i64(9).reshape(1, 1), f32(1, 1)],
    inspect=EITHER,
)
refuse(
    "scatter_nd_index_out_of_range",
    "ScatterND",
    [MATRIX, i64(2**40).reshape(1, 1), f32(1, 3)],
    inspect=EITHER,
)
refuse("scatter_nd_updates_of_wrong_shape", "ScatterND", [MATRIX, i64(0).reshape(1, 1), f32(1, 9)])

# Axes and counts
refuse("softmax_axis_out_of_range", "Softmax", [MATRIX], axis=7)
refuse("softmax_axis_smallest_number", "Softmax", [MATRIX], axis=-(2**63))
refuse("reduce_axis_out_of_range", "ReduceSum", [MATRIX, i64(4)])
refuse("reduce_axis_in_attribute_out_of_range", "ReduceMean", [MATRIX], axes=[-5])
refuse("arg_max_axis_out_of_range", "ArgMax", [MATRIX], outputs=INT64, axis=3)
refuse("arg_max_along_an_empty_axis", "ArgMax", [Given(f32(0, 3))], outputs=INT64, axis=0)
refuse("cum_sum_axis_out_of_range", "CumSum", [MATRIX, scalar(5, np.int64)])
refuse("top_k_negative", "TopK", [MATRIX, i64(-1)], outputs=TOP_K)
refuse("top_k_larger_than_axis", "TopK", [MATRIX, i64(4)], outputs=TOP_K)
refuse("top_k_of_two_counts", "TopK", [MATRIX, i64(1, 2)], outputs=TOP_K)
refuse("top_k_axis_out_of_range", "TopK", [MATRIX, i64(1)], outputs=TOP_K, axis=5)

# Arithmetic
refuse("matmul_of_different_depth", "MatMul", [MATRIX, f32(4, 2)])
refuse("matmul_of_a_scalar", "MatMul", [MATRIX, scalar(1)])
refuse("matmul_batches_that_do_not_broadcast", "MatMul", [Given(f32(2, 2, 3)), f32(5, 3, 2)])
refuse("gemm_of_different_depth", "Gemm", [MATRIX, f32(4, 2)])
refuse("gemm_of_rank_three", "Gemm", [Given(f32(1, 2, 3)), f32(3, 2)])
refuse("gemm_bias_that_does_not_broadcast", "Gemm", [MATRIX, f32(3, 2), f32(5)])
refuse("add_that_does_not_broadcast", "Add", [MATRIX, f32(4)])
refuse("add_of_float_and_int", "Add", [MATRIX, np.ones((2, 3), np.int32)])
refuse("relu_of_bool", "Relu", [Given(np.ones(3, bool))], outputs=(bool,))
refuse("and_of_floats", "And", [MATRIX, f32(2, 3)], outputs=(bool,))
refuse("where_by_a_float", "Where", [MATRIX, f32(2, 3), f32(2, 3)])
refuse("bit_shift_sideways", "BitShift", [Given(u8(3)), u8(3)], outputs=UINT8, direction="SIDEWAYS")
refuse("cast_to_unknown_type", "Cast", [MATRIX], to=99)
refuse("cast_to_string", "Cast", [MATRIX], outputs=(object,), to=8, mentions=("string",))
refuse("cast_to_nothing", "Cast", [MATRIX])
refuse("prelu_slope_that_does_not_broadcast", "PRelu", [MATRIX, f32(5)])

# ONNX leaves these undefined: any answer will do, a signal will not.
ANYTHING = {"run": EITHER, "inspect": EITHER}
refuse("div_by_zero", "Div", [Given(i64(1, 2)), i64(0, 1)], outputs=INT64, **ANYTHING)
refuse(
    "div_of_the_smallest_int", "Div", [Given(i64(-(2**63))), i64(-1)], outputs=INT64, **ANYTHING
)
refuse("mod_by_zero", "Mod", [Given(i64(1, 2)), i64(0, 1)], outputs=INT64, **ANYTHING)
refuse(
    "mod_of_the_smallest_int", "Mod", [Given(i64(-(2**63))), i64(-1)], outputs=INT64, **ANYTHING
)
refuse(
    "shift_beyond_the_width",
    "BitShift",
    [Given(u8(2)), u8(2) * 200],
    outputs=UINT8,
    direction="LEFT",
    **ANYTHING,
)
refuse(
    "cast_of_nan_to_int",
    "Cast",
    [Given(scalar([NAN, 1e30, -INF]))],
    outputs=INT64,
    **ANYTHING,
    to=7,
)
refuse("slice_axis_twice", "Slice", [MATRIX, i64(0, 0), i64(1, 1), i64(0, 0)], **ANYTHING)
refuse(
    "gather_with_a_given_index_out_of_range", "Gather", [MATRIX, Given(i64(2**40))], **ANYTHING
)

for _name, _equation in {
    "empty": "",
    "with_too_few_operands": "ij->ij",
    "with_strange_letters": "i!,!k->ik",
    "of_wrong_rank": "ijk,jk->i",
    "with_unbound_output": "ij,jk->iz",
    "with_repeated_output": "ij,jk->ii",
    "with_two_arrows": "ij,jk->ik->ik",
    "with_lone_dots": "i.j,jk->ik",
}.items():
    refuse(f"einsum_{_name}", "Einsum", [MATRIX, f32(3, 4)], equation=_equation)
refuse("einsum_of_different_dims", "Einsum", [MATRIX, f32(4, 2)], equation="ij,jk->ik")

# Resize and friends
for _name, _scale in {"zero": 0.0, "negative": -1.0, "nan": NAN, "infinite": INF}.items():
    _scales = np.array([1, 1, _scale, _scale], np.float32)
    refuse(f"resize_scale_{_name}", "Resize", [IMAGE, None, _scales])
    refuse(f"upsample_attribute_{_name}", "Upsample", [IMAGE], opset=7, scales=_scales.tolist())
refuse("resize_scales_of_wrong_length", "Resize", [IMAGE, None, f32(2)])
refuse("resize_with_scales_and_sizes", "Resize", [IMAGE, None, f32(4), i64(1, 2, 4, 4)])
refuse("resize_without_scales_and_sizes", "Resize", [IMAGE])
refuse("resize_to_negative_size", "Resize", [IMAGE, None, None, i64(1, 2, -4, 4)])
refuse("resize_mode_unknown", "Resize", [IMAGE, None, f32(4)], mode="sideways")
refuse("grid_sample_of_wrong_rank", "GridSample", [IMAGE, f32(1, 4, 4)])
refuse("roi_align_boxes_of_wrong_shape", "RoiAlign", [IMAGE, f32(1, 3), i64(0)])
refuse("roi_align_batch_out_of_range", "RoiAlign", [IMAGE, f32(1, 4), i64(7)], **ANYTHING)
refuse(
    "non_max_suppression_of_wrong_rank",
    "NonMaxSuppression",
    [Given(f32(3, 4)), f32(1, 1, 3)],
    outputs=INT64,
    mentions=(),  # inspect stops where the boxes would decide a shape
)

# Recurrent: x [seq, batch, input] = [2, 1, 3], hidden 4
SEQUENCE = Given(f32(2, 1, 3))
WEIGHT, RECURRENCE = f32(1, 16, 3), f32(1, 16, 4)
refuse("lstm_weight_of_wrong_shape", "LSTM", [SEQUENCE, f32(1, 16, 5), RECURRENCE], hidden_size=4)
refuse("lstm_recurrence_of_wrong_shape", "LSTM", [SEQUENCE, WEIGHT, f32(1, 16, 9)], hidden_size=4)
refuse("lstm_bias_of_wrong_shape", "LSTM", [SEQUENCE, WEIGHT, RECURRENCE, f32(1, 7)], hidden_size=4)
refuse("lstm_hidden_size_negative", "LSTM", [SEQUENCE, WEIGHT, RECURRENCE], hidden_size=-4)
refuse("lstm_hidden_size_against_weight", "LSTM", [SEQUENCE, WEIGHT, RECURRENCE], hidden_size=5)
refuse(
    "lstm_direction_unknown", "LSTM", [SEQUENCE, WEIGHT, RECURRENCE], hidden_size=4, direction="up"
)
refuse(
    "lstm_activation_unknown",
    "LSTM",
    [SEQUENCE, WEIGHT, RECURRENCE],
    hidden_size=4,
    activations=["A", "B", "C"],
)
refuse(
    "gru_weight_for_both_directions", "GRU", [SEQUENCE, f32(2, 12, 3), f32(2, 12, 4)], hidden_size=4
)
refuse("rnn_of_rank_two", "RNN", [MATRIX, f32(1, 4, 3), f32(1, 4, 4)], hidden_size=4)

# Quantised
refuse("quantize_scale_of_wrong_length", "QuantizeLinear", [MATRIX, f32(5), u8(5)], outputs=UINT8)
refuse(
    "quantize_zero_point_of_wrong_length", "QuantizeLinear", [MATRIX, f32(3), u8(2)], outputs=UINT8
)
refuse(
    "quantize_axis_out_of_range", "QuantizeLinear", [MATRIX, f32(3), u8(3)], outputs=UINT8, axis=4
)
refuse("dequantize_of_floats", "DequantizeLinear", [MATRIX, scalar(1)])
refuse(
    "dequantize_zero_point_of_another_type",
    "DequantizeLinear",
    [Given(u8(2, 3)), scalar(1), scalar(0, np.int8)],
)
refuse(
    "qlinear_conv_without_scales",
    "QLinearConv",
    [Given(u8(1, 2, 4, 4)), u8(2, 2, 3, 3)],
    outputs=UINT8,
)
refuse("matmul_integer_of_floats", "MatMulInteger", [MATRIX, f32(3, 2)], outputs=(np.int32,))
