"""Initializers, inputs and constants whose dimensions, types and data do not agree."""

import numpy as np
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from case import Theme, f32, i64, make_model, raw_tensor

THEME = Theme("tensors")
FOUR_FLOATS = np.arange(4, dtype=np.float32).tobytes()


def model_of(tensor: TensorProto, output_type=np.float32) -> bytes:
    proto = make_model([helper.make_node("Identity", ["w"], ["y"])], outputs={"y": output_type})
    proto.graph.initializer.append(tensor)
    return proto.SerializeToString()


def initializer(
    name: str, dims, data_type: int = TensorProto.FLOAT, output_type=np.float32, **fields
):
    THEME.add(
        name, lambda folder: model_of(raw_tensor("w", dims, data_type, **fields), output_type)
    )


initializer("negative_dim", [-4], raw_data=FOUR_FLOATS)
# Their product is the right count, so only a look at each dimension finds the fault.
initializer("two_negative_dims", [-2, -2], raw_data=FOUR_FLOATS)
initializer("smallest_dim", [-(2**63)], raw_data=FOUR_FLOATS)
initializer("zero_dim_with_data", [0, 3], raw_data=FOUR_FLOATS)
initializer("dim_of_31_bits", [2**31], raw_data=FOUR_FLOATS)
initializer("dim_of_62_bits", [2**62], raw_data=FOUR_FLOATS)
initializer("largest_dim", [2**63 - 1], raw_data=FOUR_FLOATS)
initializer("element_count_overflows", [2**31, 2**31, 2**31], raw_data=FOUR_FLOATS)
# These wrap to exactly the data that is there: 2^64 to 0 elements, 2^64 + 4 to four of them.
initializer("element_count_wraps_to_zero", [2**32, 2**32])
initializer("element_count_wraps_to_the_data", [4, 2**62 + 1], raw_data=FOUR_FLOATS)
initializer("byte_count_wraps_to_the_data", [2**62 + 4], raw_data=FOUR_FLOATS)
initializer("one_gigabyte_claimed_by_four_bytes", [2**28], raw_data=FOUR_FLOATS[:4])
initializer("rank_100", [1] * 100, raw_data=FOUR_FLOATS[:4])
initializer("raw_data_too_short", [2, 2], raw_data=FOUR_FLOATS[:12])
initializer("raw_data_too_long", [3], raw_data=FOUR_FLOATS)
initializer("raw_data_cut_inside_an_element", [4], raw_data=FOUR_FLOATS[:15])
initializer("typed_data_too_short", [4], float_data=[1, 2, 3])
initializer("typed_data_too_long", [2], float_data=[1, 2, 3])
initializer("no_data", [4])
initializer("float_data_for_int64", [2], TensorProto.INT64, np.int64, float_data=[1, 2])
initializer("int64_data_for_float", [2], int64_data=[1, 2])
initializer("double_data_for_float", [2], double_data=[1, 2])
initializer("unknown_data_type", [1], 99, raw_data=FOUR_FLOATS[:4])
initializer("undefined_data_type", [1], TensorProto.UNDEFINED, raw_data=FOUR_FLOATS[:4])
initializer("negative_data_type", [1], -1, raw_data=FOUR_FLOATS[:4])
initializer("string_data", [1], TensorProto.STRING, object, string_data=[b"weights"])
initializer("complex_data", [1], TensorProto.COMPLEX64, np.complex64, float_data=[1, 2])


@THEME.case(feeds={"x": f32(2)})
def initializer_without_a_name(folder):
    proto = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": f32(2)})
    proto.graph.initializer.append(numpy_helper.from_array(f32(2), ""))
    return proto.SerializeToString()


@THEME.case()
def initializer_twice(folder):
    proto = make_model([helper.make_node("Identity", ["w"], ["y"])], constants={"w": f32(2)})
    proto.graph.initializer.append(numpy_helper.from_array(f32(3), "w"))
    return proto.SerializeToString()


def input_against_initializer(name: str, declared: np.ndarray, stored: np.ndarray) -> None:
    def build(folder):
        nodes = [helper.make_node("Identity", ["w"], ["y"])]
        proto = make_model(nodes, {"w": declared}, {"w": stored}, {"y": stored.dtype})
        return proto.SerializeToString()

    THEME.add(name, build)


input_against_initializer("initializer_of_another_shape_than_its_input", f32(2, 3), f32(3, 2))
input_against_initializer("initializer_of_another_rank_than_its_input", f32(6), f32(3, 2))
input_against_initializer("initializer_of_another_type_than_its_input", f32(2), i64(1, 2))


def graph_input(name: str, dims, data_type: int = TensorProto.FLOAT) -> None:
    def build(folder):
        proto = make_model([helper.make_node("Relu", ["x"], ["y"])])
        proto.graph.input.append(helper.make_tensor_value_info("x", data_type, dims))
        return proto.SerializeToString()

    THEME.add(f"input_with_{name}", build)


graph_input("negative_dim", [-7, 3])
graph_input("dim_of_62_bits", [2**62])
graph_input("overflowing_dims", [2**31, 2**31, 2**31])
graph_input("rank_100", [1] * 100)
graph_input("unknown_type", [2], 99)
graph_input("undefined_type", [2], TensorProto.UNDEFINED)
graph_input("string_type", [2], TensorProto.STRING)


@THEME.case()
def input_without_a_type(folder):
    proto = make_model([helper.make_node("Relu", ["x"], ["y"])])
    proto.graph.input.add().name = "x"
    return proto.SerializeToString()


@THEME.case()
def constant_node_with_too_little_data(folder):
    node = helper.make_node("Constant", [], ["y"], value=raw_tensor("c", [8], raw_data=FOUR_FLOATS))
    return make_model([node]).SerializeToString()


@THEME.case()
def constant_node_without_a_value(folder):
    return make_model([helper.make_node("Constant", [], ["y"])]).SerializeToString()


@THEME.case()
def constant_of_shape_with_two_values(folder):
    two = numpy_helper.from_array(f32(2))
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], value=two)
    return make_model([node], constants={"s": i64(2, 2)}).SerializeToString()


def sparse(name: str, values: np.ndarray, indices: np.ndarray, dims) -> None:
    def build(folder):
        proto = make_model([helper.make_node("Identity", ["w"], ["y"])])
        proto.graph.sparse_initializer.append(
            SparseTensorProto(
                values=numpy_helper.from_array(values, "w"),
                indices=numpy_helper.from_array(indices, "w_indices"),
                dims=dims,
            )
        )
        return proto.SerializeToString()

    THEME.add(f"sparse_initializer_{name}", build)


sparse("with_index_out_of_range", f32(2), i64(1, 9), [4])
sparse("with_huge_dims", f32(1), i64(0), [1 << 20, 1 << 20])
sparse("with_dims_that_overflow", f32(1), i64(0), [1 << 40, 1 << 40])
sparse("with_fewer_values_than_indices", f32(1), i64(0, 1), [4])
sparse("with_negative_index", f32(2), i64(-1, 2), [4])
sparse("with_fewer_indices_than_values", f32(3), i64(1, 2), [4])
sparse("with_float_indices", f32(2), f32(2), [4])
sparse("with_indices_of_wrong_rank", f32(2), np.zeros((2, 3), np.int64), [4, 4])
sparse("of_a_terabyte", f32(1), i64(0), [2**38])
sparse("with_negative_dim", f32(1), i64(0), [-4])
sparse("with_overflowing_dims", f32(1), i64(0), [2**32, 2**32])


@THEME.case()
def sparse_initializer_without_values(folder):
    proto = make_model([helper.make_node("Identity", ["w"], ["y"])])
    proto.graph.sparse_initializer.add().dims.append(4)
    return proto.SerializeToString()


@THEME.case()
def output_declared_as_a_sequence(folder):
    proto = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": f32(2)}, outputs={})
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2]))
    proto.graph.output.append(helper.make_value_info("y", sequence))
    return proto.SerializeToString()
