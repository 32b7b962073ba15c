"""What a hostile case is, and the shortest ways to build one.

A theme (wire, tensors, graph, ...) is one module that fills one `Theme`; corpus.py gathers them.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.mapping import NP_TYPE_TO_TENSOR_TYPE

REFUSED = frozenset({3})
ACCEPTED = frozenset({0})
# For faults that live in values, not in types or shapes: what computes nothing may not see them.
EITHER = REFUSED | ACCEPTED

# Every case is laid out alike, so that builders can name what lies outside the model's folder.
MODEL_FILE = "model.onnx"
SECRET_FILE = Path("outside") / "secret.bin"


@dataclass(frozen=True)
class Case:
    theme: str
    name: str
    # Given the model's folder, writes what must lie beside the model and returns the model's bytes,
    # or None where it made model.onnx itself (a folder, a FIFO, nothing at all).
    build: Callable[[Path], bytes | None]
    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    run: frozenset[int] = REFUSED
    inspect: frozenset[int] = REFUSED
    # What the one line on stderr must contain.
    mentions: tuple[str, ...] = ()
    # What an accepted model must answer, by the name of the saved file.
    answers: dict[str, np.ndarray] = field(default_factory=dict)
    cpu_seconds: float = 1.0
    # Root reads every file; this case only means something without that privilege.
    unprivileged: bool = False


class Theme:
    def __init__(self, name: str):
        self.name = name
        self.cases: list[Case] = []

    def add(self, name: str, build, **expectations) -> None:
        self.cases.append(Case(self.name, name, build, **expectations))

    def case(self, **expectations):
        """Registers the decorated builder under its own name."""

        def register(build):
            self.add(build.__name__, build, **expectations)
            return build

        return register


def f32(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def value(name: str, dtype, shape):
    return helper.make_tensor_value_info(name, NP_TYPE_TO_TENSOR_TYPE[np.dtype(dtype)], shape)


def make_model(
    nodes,
    feeds: dict[str, np.ndarray] | None = None,
    constants: dict[str, np.ndarray] | None = None,
    outputs: dict[str, type] | None = None,
    opset: int = 17,
) -> ModelProto:
    """A model that is well-formed around whatever the nodes do; by default with one float `y`."""
    outputs = outputs if outputs is not None else {"y": np.float32}
    graph = helper.make_graph(
        nodes,
        "g",
        [value(name, a.dtype, a.shape) for name, a in (feeds or {}).items()],
        [value(name, dtype, None) for name, dtype in outputs.items()],
        [numpy_helper.from_array(a, name) for name, a in (constants or {}).items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name=""
    )


def raw_tensor(name: str, dims, data_type: int = TensorProto.FLOAT, **fields) -> TensorProto:
    """A tensor whose parts need not agree, which onnx.helper would refuse to build."""
    return TensorProto(name=name, dims=dims, data_type=data_type, **fields)
