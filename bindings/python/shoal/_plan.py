"""Plans: how a model would be spread over devices, and what that should bring."""

import collections.abc
from dataclasses import dataclass
from typing import Union

from shoal import _core
from shoal._types import ModelSource, Shapes

__all__ = ["Plan", "PlanSegment", "PlanWorker", "plan"]


@dataclass(frozen=True)
class PlanWorker:
    """What one worker has to do for a request."""

    name: str
    compute_seconds: float
    transfer_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class PlanSegment:
    """Consecutive nodes that are spread over workers in one way."""

    split: str
    nodes: tuple[str, ...]
    workers: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """The fastest way found to answer one request, and what it should take.

    ``seconds`` is predicted by simulation; ``single_seconds`` is what the best worker takes alone.
    ``alternatives`` are the best plans of each kind with their seconds, this one first; ``text`` says
    who computes what of which nodes.
    """

    kind: str
    seconds: float
    single_seconds: float
    wire_bytes: int
    messages: int
    survives: int
    workers: tuple[PlanWorker, ...]
    segments: tuple[PlanSegment, ...]
    alternatives: tuple[tuple[str, float], ...]
    text: str

    @property
    def speedup(self) -> float:
        """How many times as fast as the best worker alone."""
        return self.single_seconds / self.seconds


def plan(
    model: Union[ModelSource, _core.Graph],
    *,
    workers: int = 4,
    device: str = "pi4",
    link: str = "gigabit",
    survive: int = 0,
    exclude: collections.abc.Sequence[int] = (),
    shapes: Shapes = None,
) -> Plan:
    """Plans a model for equal workers, which need not be there.

    ``device`` and ``link`` name profiles that are built in; the message about an unknown name lists
    them. ``survive`` workers (0 to 2) may be lost in the middle of a request;
    ``exclude`` names workers not to be used. ``shapes`` gives inputs of open size a shape.

    >>> import shoal
    >>> made = shoal.plan("zoo:vgg16", workers=4, device="pi4", link="gigabit")
    >>> 1 < made.speedup < 4
    True
    >>> len(made.workers), made.segments[0].nodes[0]
    (4, 'features.0.relu')
    """
    graph = model if isinstance(model, _core.Graph) else _core.Model(model).graph(shapes)
    facts = _core._plan(graph, workers, device, link, survive, list(exclude))
    facts["workers"] = tuple(PlanWorker(*worker) for worker in facts["workers"])
    facts["segments"] = tuple(PlanSegment(*segment) for segment in facts["segments"])
    facts["alternatives"] = tuple(facts["alternatives"])
    return Plan(**facts)
