#!/usr/bin/python3
"""LeNet, from the same weights and on the same digits, has the losses it has in PyTorch."""
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
BATCH, STEPS, TOLERANCE = 16, 20, 1e-3

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import digits


def lenet(weights):
    layers = torch.nn.Sequential()
    for name, layer in [
        ("conv1", torch.nn.Conv2d(1, 20, 5)), ("tanh1", torch.nn.Tanh()),
        ("pool1", torch.nn.MaxPool2d(2)),
        ("conv2", torch.nn.Conv2d(20, 50, 5)), ("tanh2", torch.nn.Tanh()),
        ("pool2", torch.nn.MaxPool2d(2)), ("flatten", torch.nn.Flatten()),
        ("fc1", torch.nn.Linear(800, 500)), ("tanh3", torch.nn.Tanh()),
        ("fc2", torch.nn.Linear(500, 10)),
    ]:
        layers.add_module(name, layer)
    layers.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return layers


def losses_in_torch(weights, images, labels):
    network = lenet(weights)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        loss = torch.nn.functional.cross_entropy(
            network(torch.from_numpy(images[batch])), torch.from_numpy(labels[batch]))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def main():
    torch.set_num_threads(1)
    images, labels = digits.draw(seed=1, count=BATCH * STEPS)
    images = images.reshape(-1, 1, digits.SIDE, digits.SIDE).astype(np.float32) / 255
    labels = np.asarray(labels, np.int64)
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        np.save(at / "images.npy", images)
        np.save(at / "labels.npy", labels)
        (at / "weights").mkdir()
        out = subprocess.run(
            [sys.argv[1], "lenet5", at / "images.npy", at / "labels.npy", str(BATCH), str(STEPS),
             at / "weights"], check=True, stdout=subprocess.PIPE, text=True).stdout
        ours = [float(line) for line in out.split()]
        weights = {file.stem: np.load(file) for file in (at / "weights").glob("*.npy")}
    theirs = losses_in_torch(weights, images, labels)
    worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    print(f"losses {ours[0]:.4f} ... {ours[-1]:.4f}, PyTorch {theirs[0]:.4f} ... {theirs[-1]:.4f}, "
          f"worst difference {worst:.2e}")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
