"""Functions and subgraphs: recursion, explosion, depth, and bindings that do not fit."""

import numpy as np
from onnx import AttributeProto, FunctionProto, helper

from case import ACCEPTED, Theme, f32, make_model, value
from encode import (
    ATTRIBUTE_GRAPH,
    ATTRIBUTE_I,
    ATTRIBUTE_IS_GRAPH,
    ATTRIBUTE_IS_INT,
    ATTRIBUTE_NAME,
    ATTRIBUTE_TYPE,
    BOOL,
    FUNCTION_ATTRIBUTE_PROTO,
    FUNCTION_DOMAIN,
    FUNCTION_INPUT,
    FUNCTION_NAME,
    FUNCTION_NODE,
    FUNCTION_OPSET_IMPORT,
    FUNCTION_OUTPUT,
    GRAPH_INITIALIZER,
    GRAPH_NAME,
    GRAPH_NODE,
    GRAPH_OUTPUT,
    MODEL_FUNCTIONS,
    MODEL_GRAPH,
    MODEL_OPSET_IMPORT,
    NODE_ATTRIBUTE,
    NODE_DOMAIN,
    OPSET_DOMAIN,
    OPSET_VERSION,
    TENSOR_DATA_TYPE,
    TENSOR_NAME,
    TENSOR_RAW_DATA,
    chunk,
    graph,
    integer,
    nest,
    node,
    preamble,
    value_info,
)

THEME = Theme("nesting")
DOMAIN = "local"
X = {"x": f32(2, 3)}
make = helper.make_node


def function(name: str, nodes, inputs=("a",), outputs=("b",), attributes=()) -> FunctionProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_function(DOMAIN, name, inputs, outputs, nodes, opsets, attributes)


def call(name: str, inputs, outputs, **attributes):
    return make(name, inputs, outputs, f"call_{name}", domain=DOMAIN, **attributes)


def function_model(nodes, *functions: FunctionProto) -> bytes:
    proto = make_model(nodes, X)
    proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    proto.functions.extend(functions)
    return proto.SerializeToString()


def functions_case(name: str, nodes, *functions: FunctionProto) -> None:
    THEME.add(name, lambda folder: function_model(nodes, *functions), feeds=X)


def branch(name: str, nodes, outputs=("b",), inputs=()):
    infos = [value(i, np.float32, None) for i in inputs]
    return helper.make_graph(nodes, name, infos, [value(o, np.float32, None) for o in outputs])


CALL_F = [call("F", ["x"], ["y"])]
RELU = make("Relu", ["a"], ["b"])

functions_case("function_that_calls_itself", CALL_F, function("F", [call("F", ["a"], ["b"])]))
functions_case(
    "functions_that_call_each_other",
    CALL_F,
    function("F", [call("G", ["a"], ["b"])]),
    function("G", [call("F", ["a"], ["b"])]),
)
functions_case(
    "function_that_calls_itself_inside_a_branch",
    CALL_F,
    function(
        "F",
        [
            make("Constant", [], ["c"], value=helper.make_tensor("t", 9, [], [True])),
            make(
                "If",
                ["c"],
                ["b"],
                then_branch=branch("then", [call("F", ["a"], ["t"])], ["t"]),
                else_branch=branch("else", [call("F", ["a"], ["e"])], ["e"]),
            ),
        ],
    ),
)
functions_case(
    "function_explosion",
    [call("F40", ["x"], ["y"])],
    function("F0", [RELU]),
    *(
        function(f"F{i}", [call(f"F{i - 1}", ["a"], ["m"]), call(f"F{i - 1}", ["m"], ["b"])])
        for i in range(1, 41)
    ),
)
functions_case(
    "function_that_does_not_exist", [call("Nothing", ["x"], ["y"])], function("F", [RELU])
)
functions_case(
    "function_called_with_too_many_inputs", [call("F", ["x", "x"], ["y"])], function("F", [RELU])
)
functions_case(
    "function_called_with_too_many_outputs", [call("F", ["x"], ["y", "z"])], function("F", [RELU])
)
functions_case(
    "function_with_an_undefined_output", CALL_F, function("F", [make("Relu", ["a"], ["c"])])
)
functions_case(
    "function_that_reads_its_caller", CALL_F, function("F", [make("Add", ["a", "x"], ["b"])])
)
functions_case(
    "function_defined_twice",
    CALL_F,
    function("F", [RELU]),
    function("F", [make("Neg", ["a"], ["b"])]),
)
functions_case(
    "function_with_a_cycle",
    CALL_F,
    function(
        "F",
        [make("Add", ["a", "d"], ["c"]), make("Relu", ["c"], ["d"]), make("Relu", ["d"], ["b"])],
    ),
)
functions_case(
    "function_with_an_unsupported_operator",
    CALL_F,
    function("F", [make("Frobnicate", ["a"], ["b"])]),
)


@THEME.case(feeds=X)
def function_attribute_that_was_not_given(folder):
    """The type to cast to comes from the caller, who gives none, and Cast has no default for it."""
    cast = make("Cast", ["a"], ["b"])
    cast.attribute.append(AttributeProto(name="to", ref_attr_name="to", type=AttributeProto.INT))
    return function_model(CALL_F, function("F", [cast], attributes=["to"]))


def many_defaults(count: int, calls: int) -> bytes:
    """A chain of calls of F, which has `count` attributes with defaults that nothing reads."""
    defaults = b"".join(
        chunk(
            FUNCTION_ATTRIBUTE_PROTO,
            chunk(ATTRIBUTE_NAME, b"a%06d" % i)
            + integer(ATTRIBUTE_I, 1)
            + integer(ATTRIBUTE_TYPE, ATTRIBUTE_IS_INT),
        )
        for i in range(count)
    )
    domain = DOMAIN.encode()
    body = (
        chunk(FUNCTION_NAME, b"F")
        + chunk(FUNCTION_INPUT, b"a")
        + chunk(FUNCTION_OUTPUT, b"b")
        + chunk(FUNCTION_NODE, node(b"Relu", [b"a"], [b"b"]))
        + chunk(FUNCTION_OPSET_IMPORT, integer(OPSET_VERSION, 17))
        + chunk(FUNCTION_DOMAIN, domain)
        + defaults
    )
    names = [b"x", *(b"v%d" % i for i in range(1, calls)), b"y"]
    nodes = [
        node(b"F", [before], [after]) + chunk(NODE_DOMAIN, domain)
        for before, after in zip(names, names[1:])
    ]
    local = chunk(OPSET_DOMAIN, domain) + integer(OPSET_VERSION, 1)
    return (
        preamble()
        + chunk(MODEL_OPSET_IMPORT, local)
        + chunk(MODEL_FUNCTIONS, body)
        + chunk(MODEL_GRAPH, graph(*nodes))
    )


# To search the defaults so far for each of them would take minutes.
THEME.add(
    "function_of_many_defaults",
    lambda folder: many_defaults(200_000, 1),
    feeds=X,
    run=ACCEPTED,
    inspect=ACCEPTED,
)
# Each call has a table of them all: one after the other, they take as long as the former search.
THEME.add(
    "function_of_many_defaults_called_often", lambda folder: many_defaults(50_000, 20_000), feeds=X
)


@THEME.case(feeds=X)
def imports_of_many_opsets(folder):
    """Each node asks for its opset, which is the last of them; no node computes the output."""
    imports = b"".join(
        chunk(MODEL_OPSET_IMPORT, chunk(OPSET_DOMAIN, b"d%06d" % i) + integer(OPSET_VERSION, 1))
        for i in range(200_000)
    )
    names = [b"x", *(b"v%d" % i for i in range(20_000))]
    nodes = [node(b"Relu", [before], [after]) for before, after in zip(names, names[1:])]
    return imports + preamble() + chunk(MODEL_GRAPH, graph(*nodes))


def if_case(name: str, condition=np.array(True), feeds=None, **branches) -> None:
    feeds = X if feeds is None else feeds
    nodes = [make("If", ["c"], ["y"], "choice", **branches)]
    constants = {} if "c" in feeds else {"c": condition}
    THEME.add(
        name, lambda folder: make_model(nodes, feeds, constants).SerializeToString(), feeds=feeds
    )


THEN = branch("then", [make("Relu", ["x"], ["b"])])
ELSE = branch("else", [make("Neg", ["x"], ["b"])])

if_case("branch_missing", then_branch=THEN)
if_case("branches_missing")
if_case(
    "branch_with_undefined_value",
    then_branch=branch("t", [make("Relu", ["gone"], ["b"])]),
    else_branch=ELSE,
)
if_case("branch_without_outputs", then_branch=branch("t", [], ()), else_branch=branch("e", [], ()))
if_case("branch_with_inputs", then_branch=branch("t", [RELU], inputs=("a",)), else_branch=ELSE)
if_case("branch_as_a_number", then_branch=1, else_branch=ELSE)
if_case("condition_of_floats", np.float32(1), then_branch=THEN, else_branch=ELSE)
if_case("condition_of_two_elements", np.array([True, False]), then_branch=THEN, else_branch=ELSE)
if_case(
    "unsupported_operator_in_a_branch",
    then_branch=branch("t", [make("Frobnicate", ["x"], ["b"])]),
    else_branch=ELSE,
)


@THEME.case(feeds=X)
def branches_nested_1000_deep(folder):
    """Each branch holds one If of a constant: a recursive reader goes 3000 messages down."""
    choice = node(b"If", [b"c"], [b"y"])
    attribute = integer(ATTRIBUTE_TYPE, ATTRIBUTE_IS_GRAPH)
    result = chunk(GRAPH_OUTPUT, value_info(b"y", (2, 3)))
    leaf = chunk(GRAPH_NODE, node(b"Relu", [b"x"], [b"y"])) + chunk(GRAPH_NAME, b"g") + result
    otherwise = chunk(
        NODE_ATTRIBUTE,
        chunk(ATTRIBUTE_NAME, b"else_branch") + attribute + chunk(ATTRIBUTE_GRAPH, leaf),
    )
    then = chunk(ATTRIBUTE_NAME, b"then_branch") + attribute
    condition = (
        integer(TENSOR_DATA_TYPE, BOOL) + chunk(TENSOR_NAME, b"c") + chunk(TENSOR_RAW_DATA, b"\x01")
    )
    outermost = chunk(GRAPH_INITIALIZER, condition) + graph()
    level = [
        (GRAPH_NODE, chunk(GRAPH_NAME, b"g") + result),
        (NODE_ATTRIBUTE, choice + otherwise),
        (ATTRIBUTE_GRAPH, then),
    ]
    first = [(GRAPH_NODE, outermost), *level[1:]]
    return preamble() + nest([(MODEL_GRAPH, b""), *first, *level * 999], leaf)
