#!/usr/bin/python3
"""Losses, optimisers and schedules do with random arrays what PyTorch's do.

Usage: rules_as_torch.py TRAIN_RULES
"""
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
# Relative to the largest element; both sides compute in f32, schedules in f64.
LOSS_TOLERANCE, WEIGHT_TOLERANCE, FACTOR_TOLERANCE = 1e-5, 1e-5, 1e-9

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

F = torch.nn.functional
CROSS_ENTROPY, MEAN_SQUARE = 0, 1
RULES = ["sgd", "adam", "adamw"]
SCHEDULES = ["constant", "step", "cosine"]


def ask(what, arrays, results, **options):
    """What the program makes of the arrays."""
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        for name, array in arrays.items():
            np.save(at / f"{name}.npy", array)
        subprocess.run([sys.argv[1], what, folder] + [f"{k}={float(v)}" for k, v in options.items()],
                       check=True)
        return [np.load(at / f"{name}.npy") for name in results]


def error_of(ours, theirs):
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-12))


def torch_loss(scores, target, teacher, *, kind=CROSS_ENTROPY, soft=0, smoothing=0.0, focal=0.0,
               distill=0.0, temperature=1.0):
    if kind == MEAN_SQUARE:
        return F.mse_loss(scores, target)
    if focal:
        log_p = F.log_softmax(scores, 1)
        wanted = target if soft else F.one_hot(target, scores.shape[1]).float()
        wanted = (1 - smoothing) * wanted + smoothing / scores.shape[1]
        loss = -(wanted * (1 - log_p.exp()) ** focal * log_p).sum(1).mean()
    else:
        loss = F.cross_entropy(scores, target, label_smoothing=smoothing)
    if not distill:
        return loss
    taught = F.kl_div(F.log_softmax(scores / temperature, 1), F.softmax(teacher / temperature, 1),
                      reduction="batchmean") * temperature ** 2
    return distill * taught + (1 - distill) * loss


def compare_loss(rng, **options):
    batch, classes = int(rng.integers(1, 9)), int(rng.integers(2, 12))
    scores = (3 * rng.standard_normal((batch, classes))).astype(np.float32)
    teacher = (3 * rng.standard_normal((batch, classes))).astype(np.float32)
    if options.get("kind") == MEAN_SQUARE:
        target = rng.standard_normal((batch, classes)).astype(np.float32)
    elif options.get("soft"):
        target = rng.dirichlet(np.ones(classes), batch).astype(np.float32)
    else:
        target = rng.integers(0, classes, batch)
    ours, gradient = ask("loss", {"scores": scores, "target": target, "teacher": teacher},
                         ["loss", "gradient"], **options)
    x = torch.from_numpy(scores).requires_grad_()
    theirs = torch_loss(x, torch.from_numpy(target), torch.from_numpy(teacher), **options)
    theirs.backward()
    return max(error_of(ours, theirs.detach().numpy()),
               error_of(gradient, x.grad.numpy())), LOSS_TOLERANCE


def compare_optimizer(rng, rule, **options):
    steps, shapes = 30, [(7, 5), (5,), (3, 2, 3, 3)]
    weights = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    gradients = [rng.standard_normal((steps, *s)).astype(np.float32) for s in shapes]
    arrays = {f"weight_{i}": w for i, w in enumerate(weights)}
    arrays |= {f"gradient_{i}": g for i, g in enumerate(gradients)}
    ours = ask("optimizer", arrays, [f"result_{i}" for i in range(len(shapes))],
               rule=RULES.index(rule), weights=len(shapes), **options)

    parameters = [torch.nn.Parameter(torch.from_numpy(w.copy())) for w in weights]
    decay, max_norm = options.pop("weight_decay", 0.0), options.pop("max_norm", 0.0)
    options["lr"] = options.pop("rate")
    if "beta1" in options:
        options["betas"] = (options.pop("beta1"), options.pop("beta2"))
    groups = [{"params": [p], "weight_decay": decay if p.dim() > 1 else 0.0} for p in parameters]
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    theirs = kinds[rule](groups, **options)
    for step in range(steps):
        for p, g in zip(parameters, gradients, strict=True):
            p.grad = torch.from_numpy(g[step].copy())
        if max_norm:
            torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        theirs.step()
    return max(error_of(a, p.detach().numpy())
               for a, p in zip(ours, parameters, strict=True)), WEIGHT_TOLERANCE


def compare_schedule(rng, kind, *, total, warm_up=0, every=1, drop=0.1):
    ours, = ask("schedule", {}, ["factors"], kind=SCHEDULES.index(kind), total=total,
                warm_up=warm_up, every=every, drop=drop)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    torch_schedules = torch.optim.lr_scheduler
    after = {"constant": lambda: torch_schedules.ConstantLR(optimizer, factor=1.0),
             "step": lambda: torch_schedules.StepLR(optimizer, every, drop),
             "cosine": lambda: torch_schedules.CosineAnnealingLR(optimizer, total - warm_up)}[kind]()
    if warm_up:
        before = torch_schedules.LinearLR(optimizer, 1 / warm_up, total_iters=warm_up - 1)
        after = torch_schedules.SequentialLR(optimizer, [before, after], [warm_up])
    theirs = []
    for _ in range(total):
        theirs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        after.step()
    return error_of(ours, np.array(theirs)), FACTOR_TOLERANCE


CASES = [
    (compare_loss, (), {}),
    (compare_loss, (), {"smoothing": 0.1}),
    (compare_loss, (), {"soft": 1}),
    (compare_loss, (), {"soft": 1, "smoothing": 0.2}),
    (compare_loss, (), {"focal": 2.0}),
    (compare_loss, (), {"focal": 1.5, "smoothing": 0.1}),
    (compare_loss, (), {"distill": 0.7, "temperature": 4.0}),
    (compare_loss, (), {"distill": 1.0, "temperature": 2.0, "soft": 1}),
    (compare_loss, (), {"kind": MEAN_SQUARE}),
    (compare_optimizer, ("sgd",), {"rate": 0.1}),
    (compare_optimizer, ("sgd",), {"rate": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    (compare_optimizer, ("sgd",), {"rate": 0.1, "momentum": 0.9, "nesterov": True, "max_norm": 1.0}),
    (compare_optimizer, ("adam",), {"rate": 0.01, "weight_decay": 0.1}),
    (compare_optimizer, ("adam",), {"rate": 0.01, "beta1": 0.8, "beta2": 0.95, "max_norm": 2.0}),
    (compare_optimizer, ("adamw",), {"rate": 0.01, "weight_decay": 0.1}),
    (compare_schedule, ("constant",), {"total": 20, "warm_up": 5}),
    (compare_schedule, ("step",), {"total": 50, "every": 12, "drop": 0.3}),
    (compare_schedule, ("step",), {"total": 50, "every": 12, "drop": 0.3, "warm_up": 7}),
    (compare_schedule, ("cosine",), {"total": 50}),
    (compare_schedule, ("cosine",), {"total": 50, "warm_up": 7}),
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    failed = 0
    rng = np.random.default_rng(1)
    for compare, names, options in CASES:
        error, tolerance = compare(rng, *names, **dict(options))
        failed += not error <= tolerance
        words = " ".join([compare.__name__.removeprefix("compare_"), *names, str(options)])
        print(f"{'ok  ' if error <= tolerance else 'FAIL'} {words}: {error:.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
