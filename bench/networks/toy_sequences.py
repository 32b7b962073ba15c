#!/usr/bin/python3
"""A toy task for transformers [Mao 2021]: sequences of tokens, sorted or reversed.

Writes into a folder: encoder.onnx with random weights (two layers, 64 wide, 4 heads, 256 lines in
the feed-forward part), and ids.npy, labels.npy, test-ids.npy, test-labels.npy: i64 [n, tokens].
The network gives scores [batch * tokens, symbols].

Usage: toy_sequences.py FOLDER [sort | reverse] [--tokens N] [--symbols N] [--examples N] [--seed S]
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, HIDDEN, LAYERS = 64, 4, 256, 2


class Encoder:
    def __init__(self, tokens, symbols, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.tokens, self.symbols = [], [], tokens, symbols

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, name, *shape):
        scale = np.sqrt(1 / shape[0])
        return self.constant(name, self.rng.normal(0, scale, shape).astype(np.float32))

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x, name, inputs, outputs):
        y = self.add("MatMul", [x, self.weights(name + ".weight", inputs, outputs)], name + ".product")
        zeros = np.zeros(outputs, np.float32)
        return self.add("Add", [y, self.constant(name + ".bias", zeros)], name)

    def norm(self, x, name):
        scale = self.constant(name + ".scale", np.ones(WIDTH, np.float32))
        bias = self.constant(name + ".bias", np.zeros(WIDTH, np.float32))
        return self.add("LayerNormalization", [x, scale, bias], name, axis=-1)

    def heads(self, x, name, permutation):
        y = self.linear(x, name, WIDTH, WIDTH)
        y = self.add("Reshape", [y, "heads"], name + ".split")
        return self.add("Transpose", [y], name + ".heads", perm=permutation)

    def attention(self, x, name):
        q = self.heads(x, name + ".q", [0, 2, 1, 3])
        k = self.heads(x, name + ".k", [0, 2, 3, 1])
        v = self.heads(x, name + ".v", [0, 2, 1, 3])
        scores = self.add("MatMul", [q, k], name + ".scores")
        scores = self.add("Mul", [scores, "scale"], name + ".scaled")
        share = self.add("Softmax", [scores], name + ".share", axis=-1)
        y = self.add("MatMul", [share, v], name + ".mix")
        y = self.add("Transpose", [y], name + ".tokens", perm=[0, 2, 1, 3])
        y = self.add("Reshape", [y, "merged"], name + ".merged")
        return self.linear(y, name + ".out", WIDTH, WIDTH)

    def layer(self, x, name):
        x = self.add("Add", [x, self.attention(self.norm(x, name + ".norm1"), name)], name + ".sum1")
        y = self.linear(self.norm(x, name + ".norm2"), name + ".ffn1", WIDTH, HIDDEN)
        y = self.add("Relu", [y], name + ".relu")
        return self.add("Add", [x, self.linear(y, name + ".ffn2", HIDDEN, WIDTH)], name + ".sum2")

    def model(self):
        self.constant("heads", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
        self.constant("merged", np.array([0, 0, WIDTH], np.int64))
        self.constant("rows", np.array([-1, self.symbols], np.int64))
        self.constant("scale", np.float32((WIDTH // HEADS) ** -0.5))
        x = self.add("Gather", [self.weights("embeddings", self.symbols, WIDTH), "ids"], "embedded")
        x = self.add("Add", [x, self.weights("positions", self.tokens, WIDTH)], "placed")
        for i in range(LAYERS):
            x = self.layer(x, f"layer{i}")
        x = self.linear(self.norm(x, "last"), "head", WIDTH, self.symbols)
        self.add("Reshape", [x, "rows"], "scores")
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", self.tokens])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, self.symbols])
        graph = helper.make_graph(self.nodes, "encoder", [ids], [scores], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("task", nargs="?", choices=["sort", "reverse"], default="sort")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--symbols", type=int, default=32)
    parser.add_argument("--examples", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    flags.folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(flags.seed)
    for prefix, count in (("", flags.examples), ("test-", 2000)):
        ids = rng.integers(0, flags.symbols, (count, flags.tokens), dtype=np.int64)
        labels = np.sort(ids, axis=1) if flags.task == "sort" else np.ascontiguousarray(ids[:, ::-1])
        np.save(flags.folder / f"{prefix}ids.npy", ids)
        np.save(flags.folder / f"{prefix}labels.npy", labels)
    model = Encoder(flags.tokens, flags.symbols, flags.seed).model()
    onnx.save(model, str(flags.folder / "encoder.onnx"))


if __name__ == "__main__":
    main()
