"""Training and evaluation on labelled images."""

import os
import tempfile
import collections.abc
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from shoal import _core
from shoal._errors import InvalidArgument
from shoal._types import Array, ModelSource

__all__ = ["ClusterTraining", "Epoch", "Evaluation", "Mistake", "TrainingResult", "evaluate", "train"]

DataSource = Union[_core.Dataset, tuple[Any, Any]]
PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave: on the training examples, and on those held out after it."""

    loss: float
    top1: float
    held_out_loss: float
    held_out_top1: float
    seconds: float


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: the index of its example, and how sure the network was of it."""

    example: int
    label: int
    answer: int
    probability: float


@dataclass(frozen=True)
class Evaluation:
    """How well a network does on labelled examples. ``top1`` and ``top5`` are per cent.

    ``confusions[label, answer]`` counts examples; ``mistakes`` are the surest ones.
    """

    images: int
    top1: float
    top5: float
    loss: float
    confusions: Array
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class ClusterTraining:
    """How the workers of a cluster trained.

    ``workers`` had a part in the last step; ``together`` says whether several are faster than one,
    by the scheduler's ``predicted_seconds`` of a step and ``single_seconds`` of the fastest worker
    alone. ``bytes_per_step`` are those of one worker in one direction. ``loss`` is that of the last
    step. ``lost`` names workers that were lost, and why.
    """

    steps: int
    resumed_at: int
    workers: int
    together: bool
    codec: str
    step_seconds: float
    predicted_seconds: float
    single_seconds: float
    bytes_per_step: float
    loss: float
    weights_sha256: str
    lost: tuple[str, ...]


@dataclass(frozen=True)
class TrainingResult:
    """What training ended with.

    ``model`` has the weights it ended with, ``evaluation`` is theirs. ``stopped`` is "done", or
    "patience" where no epoch was better any more. ``cluster`` is None where one device trained.
    """

    model: _core.Model
    evaluation: Evaluation
    epochs: tuple[Epoch, ...]
    stopped: str
    images_per_second: float
    skipped: tuple[str, ...]
    cluster: Optional[ClusterTraining] = None


def _dataset(source: DataSource) -> _core.Dataset:
    if isinstance(source, _core.Dataset):
        return source
    images, labels = source
    return _core.Dataset.from_arrays(images, labels)


def _evaluation(facts: dict[str, Any]) -> Evaluation:
    mistakes = tuple(Mistake(*mistake) for mistake in facts.pop("mistakes"))
    return Evaluation(mistakes=mistakes, **facts)


def evaluate(
    model: ModelSource,
    data: DataSource,
    *,
    device: str = "cpu",
    threads: int = 0,
    limit: int = 0,
    batch: int = 0,
    **images: Any,
) -> Evaluation:
    """Measures a classifier on labelled images: a Dataset, or a pair of arrays.

    ``limit`` takes only the first examples; ``batch`` is the number of images in a run, 0 the one
    that the model declares. ``images`` says what happens to images before the model sees them:
    ``preset`` ('imagenet', 'digits', 'yolo'), or ``resize``, ``crop``, ``stretch``, ``mean``,
    ``std``, ``scale``, ``bgr``, ``nhwc``.

    >>> import numpy as np, shoal
    >>> images = np.random.default_rng(1).integers(0, 256, (20, 28, 28), np.uint8)
    >>> result = shoal.evaluate("zoo:lenet5", (images, [0] * 20))
    >>> result.images, result.confusions.shape
    (20, (10, 10))
    """
    options = {"limit": limit, "batch": batch, **images}
    return _evaluation(
        _core._evaluate(_core.Model(model), _dataset(data), options, device, threads)
    )


def _train_on_cluster(
    model: ModelSource,
    data: DataSource,
    held_out: Optional[DataSource],
    out: Optional[PathLike],
    checkpoint: Optional[PathLike],
    options: dict[str, Any],
    folder: str,
    threads: int,
) -> TrainingResult:
    batch = options["batch"]  # options are taken out of the dictionary
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx") if out is None else os.fspath(out)
        facts = _core._train_on_cluster(
            _core.Model(model),
            _dataset(data),
            None if held_out is None else _dataset(held_out),
            path,
            "" if checkpoint is None else os.fspath(checkpoint),
            options,
            folder,
            threads,
        )
        with open(path, "rb") as file:
            content = file.read()
    done = facts["cluster"]
    lost = tuple(done.pop("lost"))
    return TrainingResult(
        model=_core.Model(content),
        evaluation=_evaluation(facts["evaluation"]),
        epochs=(),
        stopped="done",
        images_per_second=batch / done["step_seconds"] if done["step_seconds"] > 0 else 0.0,
        skipped=(),
        cluster=ClusterTraining(lost=lost, **done),
    )


def train(
    model: ModelSource,
    data: DataSource,
    *,
    held_out: Optional[DataSource] = None,
    out: Optional[PathLike] = None,
    checkpoint: Optional[PathLike] = None,
    resume: bool = False,
    epochs: int = 10,
    batch: int = 64,
    seed: int = 1,
    optimizer: str = "sgd",
    rate: float = 0,
    schedule: str = "cosine",
    freeze: collections.abc.Sequence[str] = (),
    retarget: int = 0,
    device: str = "cpu",
    threads: int = 0,
    on_epoch: Optional[Callable[[Epoch], None]] = None,
    cluster: Union[bool, PathLike] = False,
    **options: Any,
) -> TrainingResult:
    """Trains a classifier on labelled images, as 'shoal train' does.

    ``data`` and ``held_out`` are Datasets or pairs of arrays; without ``held_out``, a share of the
    data (``hold_out=0.1``) is used. The trained network is in the result; ``out`` also writes it
    as an ONNX file. With ``checkpoint``, training that was interrupted goes on where it was by
    ``resume=True``, and ends with the same weights. ``rate=0`` is the optimizer's usual one.
    ``freeze`` has patterns of names of weights that stay as they are; ``retarget`` replaces the
    last layer by one for so many classes. ``on_epoch`` is called after each epoch; what it raises
    ends training. Ctrl-C ends training after a step.

    ``options`` are those of ``evaluate`` for images, and by the names of 'shoal train': momentum,
    nesterov, weight_decay, clip, warm_up, drop_every, drop, smoothing, focal, penalties, teacher,
    distill, temperature, patience, hold_out, limit, flip, shift, random_crop, noise, loaders, bf16,
    memory_bytes, feature_cache_bytes, from_scratch, checkpoint_every.

    ``cluster`` is the folder of a cluster whose workers train, or True for this user's; this
    process is the hub. Further ``options`` are then steps, codec, micro_batches, local_steps,
    all_workers, fixed_shares, slack and let_sleep, as for 'shoal train --cluster'. No epochs:
    ``TrainingResult.cluster`` says what the workers did. ``device`` and ``on_epoch`` are for one
    device alone.

    >>> import numpy as np, shoal
    >>> labels = np.arange(200) % 10
    >>> images = np.zeros((200, 28, 28), np.uint8)
    >>> images[np.arange(200), 2 * labels] = 255  # the class is the row that is bright
    >>> result = shoal.train("zoo:mlp", (images, labels), epochs=3, batch=20)
    >>> result.evaluation.top1 > 50
    True
    >>> session = shoal.Session(result.model)
    """
    named = {
        "resume": resume,
        "epochs": epochs,
        "batch": batch,
        "seed": seed,
        "optimizer": optimizer,
        "rate": rate,
        "schedule": schedule,
        "freeze": list(freeze),
        "retarget": retarget,
        **options,
    }

    if cluster:
        if device != "cpu" or on_epoch is not None:
            raise InvalidArgument("device and on_epoch are for training without a cluster")
        folder = "" if cluster is True else os.fspath(cluster)
        return _train_on_cluster(model, data, held_out, out, checkpoint, named, folder, threads)

    def tell(*facts: float) -> None:
        assert on_epoch is not None
        on_epoch(Epoch(*facts))

    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx") if out is None else os.fspath(out)
        facts = _core._train(
            _core.Model(model),
            _dataset(data),
            None if held_out is None else _dataset(held_out),
            path,
            "" if checkpoint is None else os.fspath(checkpoint),
            named,
            device,
            threads,
            None if on_epoch is None else tell,
        )
        with open(path, "rb") as file:
            content = file.read()
    return TrainingResult(
        model=_core.Model(content),
        evaluation=_evaluation(facts["evaluation"]),
        epochs=tuple(Epoch(*epoch) for epoch in facts["epochs"]),
        stopped=facts["stopped"],
        images_per_second=facts["images_per_second"],
        skipped=tuple(facts["skipped"]),
    )
