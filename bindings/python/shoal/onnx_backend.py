"""Shoal as a backend of the ONNX project (``onnx.backend.base``), CPU only. Needs the package onnx.

>>> import numpy as np, onnx.helper
>>> from shoal import onnx_backend
>>> node = onnx.helper.make_node("Relu", ["x"], ["y"])
>>> onnx_backend.run_node(node, [np.float32([-1, 2])])
Outputs(y=array([0., 2.], dtype=float32))

bfloat16 travels as the uint16 of its bits, as in ONNX's own test cases: NumPy has no such type.
"""

import collections.abc
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import IR_VERSION, ModelProto, NodeProto, defs, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from shoal._core import Session
from shoal._errors import NotFound, Unsupported

__all__ = [
    "ShoalBackend",
    "ShoalBackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


Array = npt.NDArray[Any]


class ShoalBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._inputs = [info.name for info in session.inputs]
        self._outputs = [info.name for info in session.outputs]
        self._tuple = namedtupledict("Outputs", self._outputs)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Answers to inputs by position, by name, or to a single array: a tuple with names."""
        if isinstance(inputs, collections.abc.Mapping):
            named = dict(inputs)
        elif isinstance(inputs, (list, tuple)):
            named = dict(zip(self._inputs, inputs))
        else:
            named = {self._inputs[0]: inputs}
        answers = self.session.run(named)
        named_tuple: tuple[Any, ...] = self._tuple(*(answers[name] for name in self._outputs))
        return named_tuple


def _value_info(name: str, array: Array) -> Any:
    # The way from a NumPy type to ONNX's differs between versions of onnx; this one is in all.
    number = numpy_helper.from_array(np.empty(0, array.dtype)).data_type
    return helper.make_tensor_value_info(name, number, array.shape)


def _node_model(node: NodeProto, inputs: list[Array], opset: int) -> ModelProto:
    """A model of one node, whose outputs are left for the importer to infer."""
    names = [name for name in node.input if name]
    infos = [_value_info(name, array) for name, array in zip(names, inputs)]
    outputs = [helper.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", infos, outputs)
    opsets = [helper.make_opsetid(node.domain, opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


class ShoalBackend(Backend):
    """Implements ``onnx.backend.base.Backend``."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be loaded, as far as that can be told without running it."""
        try:
            cls.prepare(model, device, **kwargs)
        except Unsupported:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> ShoalBackendRep:
        """Loads a model; ``kwargs`` go to ``shoal.Session``."""
        # The importer checks models itself: onnx.checker would refuse those of more than 2 GB.
        if not cls.supports_device(device):
            raise NotFound(f"there is no device {device}: only CPU")
        return ShoalBackendRep(Session(model.SerializeToString(), **kwargs))

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Answers of one operator of the newest opset, or of ``opset_version``."""
        opset = kwargs.pop("opset_version", defs.onnx_opset_version())
        arrays = [np.asarray(value) for value in inputs]
        return cls.prepare(_node_model(node, arrays, opset), device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether ``device`` is "CPU" or "CPU:N"."""
        try:
            return bool(Device(device).type == DeviceType.CPU)
        except (AttributeError, ValueError):
            return False


is_compatible = ShoalBackend.is_compatible
prepare = ShoalBackend.prepare
run_model = ShoalBackend.run_model
run_node = ShoalBackend.run_node
supports_device = ShoalBackend.supports_device
