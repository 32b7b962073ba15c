"""Graphs that are none: cycles, undefined and repeated names, unknown operators and versions."""

import numpy as np
from onnx import ModelProto, helper

from case import Theme, f32, i64, make_model
from encode import GRAPH_OUTPUT, chunk, graph, model, node, value_info

THEME = Theme("graph")
X = {"x": f32(2, 3)}


def nodes_case(name: str, nodes, feeds=None, outputs=None, **expectations) -> None:
    feeds = X if feeds is None else feeds
    build = lambda folder: make_model(nodes, feeds, outputs=outputs).SerializeToString()
    THEME.add(name, build, feeds=feeds, **expectations)


make = helper.make_node

nodes_case("node_that_reads_itself", [make("Add", ["x", "y"], ["y"], "loop")])
nodes_case(
    "cycle_of_two_nodes",
    [make("Add", ["x", "b"], ["a"]), make("Relu", ["a"], ["b"]), make("Relu", ["b"], ["y"])],
)
nodes_case(
    "cycle_of_1000_nodes",
    [make("Add", ["x", "v999"], ["v0"])]
    + [make("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(999)]
    + [make("Relu", ["v999"], ["y"])],
)
nodes_case("value_defined_by_two_nodes", [make("Relu", ["x"], ["y"]), make("Neg", ["x"], ["y"])])
nodes_case("value_defined_twice_by_one_node", [make("Split", ["x"], ["y", "y"], axis=0)])
nodes_case("node_that_redefines_an_input", [make("Relu", ["x"], ["x"]), make("Neg", ["x"], ["y"])])
nodes_case("undefined_value", [make("Add", ["x", "nowhere"], ["y"])], mentions=("nowhere",))
nodes_case("undefined_output", [make("Relu", ["x"], ["z"])])
nodes_case("no_nodes", [])
nodes_case("missing_required_input", [make("Conv", ["x"], ["y"])])
nodes_case("required_input_left_empty", [make("Add", ["x", ""], ["y"])])
nodes_case("no_inputs_at_all", [make("Relu", [], ["y"])])
nodes_case("too_many_inputs", [make("Relu", ["x", "x", "x"], ["y"])])
nodes_case("too_many_outputs", [make("Relu", ["x"], ["y", "z"])])
nodes_case("no_outputs_at_all", [make("Relu", ["x"], []), make("Neg", ["x"], ["y"])])
nodes_case("empty_operator_name", [make("", ["x"], ["y"])])
nodes_case(
    "operator_name_of_another_case",
    [make("RELU", ["x"], ["y"], "shout")],
    mentions=("RELU", "shout"),
)
nodes_case("loop_operator", [make("Loop", ["", "", "x"], ["y"], "spin")], mentions=("Loop", "spin"))


UNSUPPORTED = ("Frobnicate", "Twiddle", "StringConcat", "Smooth")


@THEME.case(mentions=(*UNSUPPORTED, "first", "second", "third", "fourth"))
def every_unsupported_operator_is_named(folder):
    nodes = [
        make("Frobnicate", ["x"], ["a"], "first"),
        make("Relu", ["a"], ["b"], "innocent"),
        make("Twiddle", ["b"], ["c"], "second"),
        make("StringConcat", ["c"], ["d"], "third"),
        make("Smooth", ["d"], ["y"], "fourth", domain="com.nobody"),
    ]
    return with_opsets(make_model(nodes, X), ("", 17), ("com.nobody", 1)).SerializeToString()


@THEME.case(mentions=("com.nobody", "Relu"))
def known_operator_of_an_unknown_domain(folder):
    proto = make_model([make("Relu", ["x"], ["y"], "stranger", domain="com.nobody")], X)
    return with_opsets(proto, ("", 17), ("com.nobody", 1)).SerializeToString()


@THEME.case()
def domain_that_was_not_imported(folder):
    proto = make_model([make("Relu", ["x"], ["y"], domain="com.nobody")], X)
    return proto.SerializeToString()


@THEME.case()
def hundred_thousand_unsupported_nodes(folder):
    """The list of what is missing must not grow without bound."""
    missing = b"".join(
        chunk(1, node(b"Frobnicate", [b"x"], [b"v%d" % i], b"node_%d" % i)) for i in range(100_000)
    )
    return model(missing + graph(node(b"Relu", [b"x"], [b"y"])))


def with_opsets(proto: ModelProto, *opsets: tuple[str, int]) -> ModelProto:
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in opsets)
    return proto


def opsets_case(name: str, *opsets: tuple[str, int]) -> None:
    def build(folder):
        return with_opsets(make_model([make("Relu", ["x"], ["y"])], X), *opsets).SerializeToString()

    THEME.add(name, build, feeds=X)


def newer_opset_case(name: str, opset: int) -> None:
    """An opset that is not known is read, unless a node says something that is not known either."""

    def build(folder):
        relu = make("Relu", ["x"], ["y"])
        relu.attribute.append(helper.make_attribute("frob", 1))
        return with_opsets(make_model([relu], X), ("", opset)).SerializeToString()

    THEME.add(name, build, feeds=X, mentions=(f"Relu of opset {opset}",))


opsets_case("no_opset_import")
opsets_case("opset_zero", ("", 0))
opsets_case("opset_negative", ("", -17))
newer_opset_case("opset_999", 999)
newer_opset_case("opset_of_63_bits", 2**63 - 1)
opsets_case("opset_of_another_domain_only", ("com.nobody", 1))


def named(
    name: str, op_type: bytes = b"Relu", source: bytes = b"x", node_name: bytes = b"n"
) -> None:
    """Names that would break the one line, or take over the terminal it is printed on."""
    THEME.add(name, lambda folder: model(graph(node(op_type, [source], [b"y"], node_name))))


named("operator_name_with_a_newline", op_type=b"Frob\nshoal: all is well\n")
named("operator_name_with_escape_sequences", op_type=b"\x1b[2J\x1b]0;title\x07Frob")
named("operator_name_with_nul", op_type=b"Relu\x00Frob")
named("operator_name_with_invalid_utf8", op_type=b"Frob\xff\xfe\xc3(")
named("operator_name_with_c1_controls", op_type="Frob\u009b31m\u0085".encode())
named("operator_name_of_a_megabyte", op_type=b"F" * 1_000_000)
named("node_name_with_a_newline", op_type=b"Frob", node_name=b"one\r\ntwo\n")
named("node_name_with_format_directives", op_type=b"Frob", node_name=b"%s%n%x{}{0}")
named("node_name_of_a_megabyte", op_type=b"Frob", node_name=b"n" * 1_000_000)
named("value_name_with_a_newline", source=b"no\nwhere")
named("value_name_with_escape_sequences", source=b"\x1b[31mnowhere\x1b[0m\x7f")
named("value_name_with_invalid_utf8", source=b"nowhere\xf0\x28\x8c\xbc")
named("value_name_with_nul", source=b"x\x00")


@THEME.case()
def output_name_with_a_newline(folder):
    extra = chunk(GRAPH_OUTPUT, value_info(b"no\nwhere", (2, 3)))
    return model(graph(node(b"Relu", [b"x"], [b"y"]), extra=extra))


@THEME.case()
def same_input_twice(folder):
    proto = make_model([make("Relu", ["x"], ["y"])], X)
    proto.graph.input.append(proto.graph.input[0])
    return proto.SerializeToString()


@THEME.case(feeds={"x": i64(1, 2)})
def output_declared_of_another_type(folder):
    proto = make_model([make("Neg", ["x"], ["y"])], {"x": i64(1, 2)}, outputs={"y": np.float32})
    return proto.SerializeToString()
