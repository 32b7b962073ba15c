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

sys.path.insert(0, str(ROOT / "tools"))
import digits


def lenet():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2),
                         nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))


class Block(torch.nn.Module):
    """Two convolutions; where the image shrinks, the short cut takes every second pixel."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride = outputs // inputs
        self.more = (outputs - inputs) // 2
        self.conv1 = torch.nn.Conv2d(inputs, outputs, 3, self.stride, 1)
        self.conv2 = torch.nn.Conv2d(outputs, outputs, 3, 1, 1)

    def forward(self, x):
        short = x[:, :, ::self.stride, ::self.stride]
        short = torch.nn.functional.pad(short, (0, 0, 0, 0, self.more, self.more))
        return torch.relu(self.conv2(torch.relu(self.conv1(x))) + short)


def resnet20():
    """As the file has it: batch normalisation is part of the convolutions."""
    nn = torch.nn
    blocks = [Block(a, b) for a, b in [(16, 16)] * 3 + [(16, 32)] + [(32, 32)] * 2 + [(32, 64)] +
              [(64, 64)] * 2]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU(), *blocks, nn.AvgPool2d(8),
                         nn.Flatten(), nn.Linear(64, 10))


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
    return compare("lenet5", lenet(), images, labels.astype(np.int64), batch, 0.02)


def resnet_on_noise():
    """A few steps only: noise is far from all it knows, and small differences grow from step to step."""
    model = ROOT.parent / "shared" / "models" / "resnet20-cifar10.onnx"
    if not model.exists():
        print(f"skipped: no {model.name}")
        return True
    batch, rng = 8, np.random.default_rng(1)
    images = rng.standard_normal((5 * batch, 3, 32, 32), np.float32)
    labels = rng.integers(0, 10, len(images))
    return compare(str(model), resnet20(), images, labels, batch, 2e-5)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    return 0 if all([lenet_on_digits(), resnet_on_noise()]) else 1


if __name__ == "__main__":
    sys.exit(main())
