"""Networks of the zoo and of ../shared/models as PyTorch has them, weights in the same order."""
import torch
from torch import nn


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2),
                         nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))


def convnet():
    """Its pools round sizes up; padding is in no average."""
    max_pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    average_pool = nn.AvgPool2d(3, 2, ceil_mode=True, count_include_pad=False)
    return nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), max_pool, nn.ReLU(),
                         nn.Conv2d(32, 32, 5, padding=2), nn.ReLU(), average_pool,
                         nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), average_pool,
                         nn.Flatten(), nn.Linear(1024, 10))


class Block(nn.Module):
    """Two convolutions; where the image shrinks, the short cut takes every second pixel."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride = outputs // inputs
        self.more = (outputs - inputs) // 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, self.stride, 1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1)

    def forward(self, x):
        short = x
        if self.stride > 1:
            short = x[:, :, ::self.stride, ::self.stride]
            short = nn.functional.pad(short, (0, 0, 0, 0, self.more, self.more))
        return torch.relu(self.conv2(torch.relu(self.conv1(x))) + short)


def resnet20():
    """As the file has it: batch normalisation is part of the convolutions."""
    blocks = [Block(a, b) for a, b in [(16, 16)] * 3 + [(16, 32)] + [(32, 32)] * 2 + [(32, 64)] +
              [(64, 64)] * 2]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU(), *blocks, nn.AvgPool2d(8),
                         nn.Flatten(), nn.Linear(64, 10))


class NormBlock(Block):
    """As it is trained: a batch normalisation after each convolution."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.conv1 = nn.Sequential(nn.Conv2d(inputs, outputs, 3, self.stride, 1, bias=False),
                                   nn.BatchNorm2d(outputs))
        self.conv2 = nn.Sequential(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
                                   nn.BatchNorm2d(outputs))


class Attention(nn.Module):
    """A layer of an encoder: attention, then two products, each normalised with what it began with."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1 = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (f(x).reshape(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for f in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(2, 3) / (width // self.heads) ** 0.5, -1)
        x = self.norm1(x + self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width)))
        return self.norm2(x + self.fc2(nn.functional.gelu(self.fc1(x))))


class Encoder(nn.Module):
    def __init__(self, width=64, layers=4, heads=4):
        super().__init__()
        self.layers = nn.Sequential(*(Attention(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.layers(x).mean(1))


def resnet20_with_norms():
    blocks = [NormBlock(a, b) for a, b in [(16, 16)] * 3 + [(16, 32)] + [(32, 32)] * 2 +
              [(32, 64)] + [(64, 64)] * 2]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         *blocks, nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, 10))
