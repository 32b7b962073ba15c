#!/usr/bin/python3
"""From the same weights, on the same batches, networks have PyTorch's losses and gradients.

Usage: same_as_torch.py TRAIN_PATH
"""
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-3, 1e-4
ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/peers")]
import digits
import torch_networks


def train_in_torch(network, weights, images, labels, batch, rate):
    """The loss of every step, and the gradients of the first."""
    with torch.no_grad():
        for parameter, weight in zip(network.parameters(), weights, strict=True):
            parameter.copy_(torch.from_numpy(weight))
    optimiser = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    losses, gradients = [], None
    for begin in range(0, len(images), batch):
        part = slice(begin, begin + batch)
        loss = torch.nn.functional.cross_entropy(
            network(torch.from_numpy(images[part])), torch.from_numpy(labels[part]))
        optimiser.zero_grad()
        loss.backward()
        gradients = gradients or [p.grad.numpy().copy() for p in network.parameters()]
        optimiser.step()
        losses.append(loss.item())
    return losses, gradients


def train_in_shoal(name, images, labels, batch, rate):
    """The same, and the weights it began with."""
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        np.save(at / "images.npy", images)
        np.save(at / "labels.npy", labels)
        out = subprocess.run(
            [sys.argv[1], name, at / "images.npy", at / "labels.npy", str(batch),
             str(len(images) // batch), str(rate), at],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        count = len(list(at.glob("weight_*.npy")))
        weights, gradients = ([np.load(at / f"{what}_{i}.npy") for i in range(count)]
                              for what in ("weight", "gradient"))
    return [float(line) for line in out.split()], gradients, weights


def compare(name, network, images, labels, batch, rate):
    ours, our_gradients, weights = train_in_shoal(name, images, labels, batch, rate)
    theirs, gradients = train_in_torch(network, weights, images, labels, batch, rate)
    loss = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    gradient = max(np.linalg.norm(a - b) / np.linalg.norm(b)
                   for a, b in zip(our_gradients, gradients, strict=True))
    print(f"{pathlib.Path(name).name}: {len(ours)} losses {ours[0]:.4f} ... {ours[-1]:.4f}, "
          f"PyTorch {theirs[0]:.4f} ... {theirs[-1]:.4f}, worst difference {loss:.1e}; "
          f"gradients, worst relative error {gradient:.1e}")
    return loss <= LOSS_TOLERANCE and gradient <= GRADIENT_TOLERANCE


def lenet_on_digits():
    batch = 16
    images, labels = digits.draw(seed=1, count=20 * batch)
    images = images.reshape(-1, 1, digits.SIDE, digits.SIDE).astype(np.float32) / 255
    return compare("lenet5", torch_networks.lenet(), images, labels.astype(np.int64), batch, 0.02)


def resnet_on_noise():
    """A few steps only: noise is far from all it knows, and small differences grow from step to step."""
    model = ROOT.parent / "shared" / "models" / "resnet20-cifar10.onnx"
    if not model.exists():
        print(f"skipped: no {model.name}")
        return True
    batch, rng = 8, np.random.default_rng(1)
    images = rng.standard_normal((5 * batch, 3, 32, 32), np.float32)
    labels = rng.integers(0, 10, len(images))
    return compare(str(model), torch_networks.resnet20(), images, labels, batch, 2e-5)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    return 0 if all([lenet_on_digits(), resnet_on_noise()]) else 1


if __name__ == "__main__":
    sys.exit(main())
