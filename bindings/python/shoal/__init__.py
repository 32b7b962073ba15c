"""Shoal runs neural networks on small devices, alone or several together.

>>> import numpy as np
>>> import shoal
>>> session = shoal.Session("zoo:lenet5", device="cpu")
>>> answers = session.run({"input": np.zeros((1, 1, 28, 28), np.float32)})
>>> answers["output"].shape
(1, 10)
"""

from shoal._core import Model, Session, TensorInfo, __version__
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

__all__ = [
    "Cancelled",
    "Corrupt",
    "DeadlineExceeded",
    "Error",
    "Exhausted",
    "Internal",
    "InvalidArgument",
    "Model",
    "NotFound",
    "Session",
    "TensorInfo",
    "Unavailable",
    "Unsupported",
    "__version__",
]
