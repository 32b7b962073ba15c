#!/usr/bin/python3
"""Trains the embedded digit classifier and writes it as ONNX.

The images come from digits.py: each epoch draws new ones, and none from the held-out seed. The
accuracy it prints is that of the written file, read back and run node by node. Needs python3-torch
and python3-onnx.
"""
import argparse
import pathlib

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

import digits

FIRST_TRAINING_SEED = 1000
BATCH = 128
DEFAULT_OUT = pathlib.Path(__file__).parent.parent / "shoal/model/zoo/digits/digits.onnx"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 24, 3, padding=1)
        self.conv3 = nn.Conv2d(24, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 3 * 3, 10)

    def forward(self, x):  # [n, 1, 28, 28]
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.max_pool2d(F.relu(conv(x)), 2)
        return self.fc(x.flatten(1))


def load(seed, count):
    images, labels = digits.draw(seed, count)
    return torch.from_numpy(images[:, None]).float() / 255, torch.from_numpy(labels).long()


def train(epochs, images_per_epoch):
    torch.manual_seed(FIRST_TRAINING_SEED)
    net = Net()
    optimiser = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=6e-3, total_steps=epochs * -(-images_per_epoch // BATCH))
    for epoch in range(epochs):
        seed = FIRST_TRAINING_SEED + epoch
        assert seed != digits.HELD_OUT_SEED
        images, labels = load(seed, images_per_epoch)
        total = 0.0
        for x, y in zip(images.split(BATCH), labels.split(BATCH)):
            loss = F.cross_entropy(net(x), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch + 1}/{epochs}: loss {total / images_per_epoch:.4f}", flush=True)
    return net


def export(net):
    nodes = []
    value = "image"

    def append(operator, output, parameters=(), **attributes):
        nonlocal value
        inputs = [value, *parameters]
        nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        value = output

    for i in (1, 2, 3):
        append("Conv", f"conv{i}", [f"conv{i}.weight", f"conv{i}.bias"],
               kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        append("Relu", f"relu{i}")
        append("MaxPool", f"pool{i}", kernel_shape=[2, 2], strides=[2, 2])
    append("Flatten", "flat", axis=1)
    append("Gemm", "scores", ["fc.weight", "fc.bias"], transB=1)

    weights = [numpy_helper.from_array(w.numpy(), name) for name, w in net.state_dict().items()]
    image_shape = ["N", 1, digits.SIDE, digits.SIDE]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, image_shape)],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10])],
        weights)
    return helper.make_model(graph, ir_version=7, opset_imports=[helper.make_opsetid("", 13)])


# How torch runs each operator that export() writes; `a` holds the node's attributes.
RUN = {
    "Conv": lambda a, x, w, b: F.conv2d(x, w, b, padding=a["pads"][0]),
    "Relu": lambda a, x: F.relu(x),
    "MaxPool": lambda a, x: F.max_pool2d(x, a["kernel_shape"], a["strides"]),
    "Flatten": lambda a, x: x.flatten(a["axis"]),
    "Gemm": lambda a, x, w, b: x @ (w.T if a["transB"] else w) + b,
}


def run(model, images):
    values = {w.name: torch.tensor(numpy_helper.to_array(w)) for w in model.graph.initializer}
    values["image"] = images
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = RUN[node.op_type](attributes, *(values[i] for i in node.input))
    return values["scores"]


def main():
    parser = argparse.ArgumentParser(description="Train the embedded digit classifier.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--images-per-epoch", type=int, default=20000)
    parser.add_argument("--out", type=pathlib.Path, default=DEFAULT_OUT)
    args = parser.parse_args()

    net = train(args.epochs, args.images_per_epoch)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(export(net), args.out)

    model = onnx.load(args.out)
    onnx.checker.check_model(model, full_check=True)
    images, labels = load(digits.HELD_OUT_SEED, 10000)
    with torch.no_grad():
        scores = run(model, images)
        np.testing.assert_allclose(scores, net(images), atol=1e-4)
    accuracy = 100 * (scores.argmax(1) == labels).float().mean().item()
    parameters = sum(p.numel() for p in net.parameters())
    print(f"{args.out}: {args.out.stat().st_size} bytes, {parameters} parameters, "
          f"{accuracy:.2f} % of {len(labels)} held-out images")


if __name__ == "__main__":
    main()
