"""Shoal runs neural networks on small devices, alone or several together.

>>> import numpy as np
>>> import shoal
>>> session = shoal.Session("zoo:lenet5", device="cpu")
>>> answers = session.run({"input": np.zeros((1, 1, 28, 28), np.float32)})
>>> answers["output"].shape
(1, 10)
"""

import os as _os
from typing import Union as _Union

from shoal._core import (
    Cancellation,
    Dataset,
    Graph,
    Model,
    Node,
    Session,
    TensorInfo,
    __version__,
    devices,
)
from shoal._errors import (
    Cancelled,
    Corrupt,
    DeadlineExceeded,
    Error,
    Exhausted,
    Internal,
    InvalidArgument,
    NotFound,
    Unavailable,
    Unsupported,
)
from shoal._plan import Plan, PlanSegment, PlanWorker, plan
from shoal._train import (
    ClusterTraining,
    Epoch,
    Evaluation,
    Mistake,
    TrainingResult,
    evaluate,
    train,
)
from shoal._types import ModelSource as _ModelSource
from shoal._types import Shapes as _Shapes

__all__ = [
    "Cancellation",
    "Cancelled",
    "ClusterTraining",
    "Corrupt",
    "Dataset",
    "DeadlineExceeded",
    "Epoch",
    "Error",
    "Evaluation",
    "Exhausted",
    "Graph",
    "Internal",
    "InvalidArgument",
    "Mistake",
    "Model",
    "Node",
    "NotFound",
    "Plan",
    "PlanSegment",
    "PlanWorker",
    "Session",
    "TensorInfo",
    "TrainingResult",
    "Unavailable",
    "Unsupported",
    "__version__",
    "devices",
    "evaluate",
    "load",
    "plan",
    "save",
    "train",
]


def load(source: _ModelSource) -> Model:
    """Loads a model: the path of an ONNX file, "zoo:NAME", or the bytes of an ONNX file.

    >>> import shoal
    >>> shoal.load("zoo:lenet5").outputs
    [<shoal.TensorInfo output: f32[1,10]>]
    """
    return Model(source)


def save(
    model: _Union[_ModelSource, Graph],
    path: _Union[str, "_os.PathLike[str]"],
    *,
    shapes: _Shapes = None,
) -> None:
    """Writes a model as an ONNX file of opset 17, with the shapes that ``Model.graph`` gives it.

    >>> import shoal, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shoal.save("zoo:lenet5", folder + "/lenet5.onnx")
    ...     shoal.load(folder + "/lenet5.onnx").outputs
    [<shoal.TensorInfo output: f32[1,10]>]
    """
    graph = model if isinstance(model, Graph) else Model(model).graph(shapes)
    graph.save(path)
