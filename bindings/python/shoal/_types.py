"""Names for types that several functions take."""

import os
import collections.abc
from typing import Any, Optional, Union

import numpy.typing as npt

from shoal import _core

Array = npt.NDArray[Any]
ModelSource = Union[str, bytes, "os.PathLike[str]", _core.Model]
Shapes = Optional[collections.abc.Mapping[str, collections.abc.Sequence[int]]]
