#!/usr/bin/python3
"""Shrinks the shared sentence encoder by imitation, and judges it by the STS benchmark.

The smaller network learns the answers of the given one to the sentences of the dev split; pairs of
the test split judge both: Pearson's correlation of the cosine of two sentences with what people
said. Labels of the dev split are not used. Numbers beside the files: ids are padded with -1.

It learns from the first 20 tokens of a sentence, and is written for sentences of up to 48.

Usage: sts.py SHOAL SHARED FOLDER [--tokens N] [--learn-tokens N] [words for 'shoal tprune' ...]
       sts.py SHOAL SHARED FOLDER --judge MODEL.onnx [--tokens N]
"""

import argparse
import csv
import json
import subprocess
from pathlib import Path

import numpy as np

FIRST_PIECE = 6  # those before have a meaning of their own
UNKNOWN = 0
# The table of embeddings and that of positions stay, and so do constants that are no weights.
FROZEN = ["embeddings", "unsqueeze*", "one*", "neg", "tiny", "*.eps", "layer?.scale"]
RECIPE = "--target macs=0.62 --strength 1e-5 --sparse-epochs 1 --epochs 3 --batch 32 --rate 3e-4 --clip 1".split()


class Tokens:
    """SentencePiece's unigram model: the pieces of the highest sum of scores."""

    def __init__(self, path):
        pieces = json.loads(Path(path).read_text())
        self.pieces, last = {}, 0
        for i, (piece, score) in enumerate(pieces):
            last = last if score is None else score  # pieces are in the order of their scores
            if i >= FIRST_PIECE:
                self.pieces[piece] = (i, last)
        self.longest = max(map(len, self.pieces))
        self.unknown = min(score for _, score in self.pieces.values()) - 10

    def ids(self, sentence):
        text = "▁" + "▁".join(sentence.split())
        best = [(0.0, 0, 0)] + [(-np.inf, 0, 0)] * len(text)  # score, begin, id
        for begin in range(len(text)):
            for end in range(begin + 1, min(len(text), begin + self.longest) + 1):
                known = self.pieces.get(text[begin:end])
                if known is None and end > begin + 1:
                    continue
                number, score = known or (UNKNOWN, self.unknown)
                if best[begin][0] + score > best[end][0]:
                    best[end] = (best[begin][0] + score, begin, number)
        ids, end = [], len(text)
        while end > 0:
            _, begin, number = best[end]
            ids.append(number)
            end = begin
        return ids[::-1]


def pairs(path):
    rows = csv.reader(path.open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [(float(row[4]), row[5], row[6]) for row in rows]


def padded(sentences, tokens):
    ids = np.full((len(sentences), tokens), -1, np.int64)
    for row, sentence in zip(ids, sentences):
        row[: len(sentence)] = sentence[:tokens]
    return ids


def write(shared, folder, tokens, learned):
    """[2 n, tokens]: the first sentences of all pairs, then the second."""
    reader = Tokens(shared / "models" / "use-lite-vocab.json")
    for split in ("dev", "test"):
        rows = pairs(shared / "data" / "sts-benchmark" / f"sts-{split}.csv")
        sentences = [reader.ids(row[side]) for side in (1, 2) for row in rows]
        cut = sum(len(sentence) > tokens for sentence in sentences)
        print(f"{split}: {len(rows)} pairs, {np.mean([len(s) for s in sentences]):.1f} tokens a sentence, {cut} cut")
        ids = padded(sentences, tokens)
        np.save(folder / f"{split}-ids.npy", ids)
        np.save(folder / f"{split}-short.npy", np.ascontiguousarray(ids[:, :learned]))
        np.save(folder / f"{split}-some.npy", np.ascontiguousarray(ids[::10]))
        np.save(folder / f"{split}-scores.npy", np.array([row[0] for row in rows]))


def pearson(shoal, model, folder, split):
    ids = np.load(folder / f"{split}-ids.npy")
    outputs = folder / "outputs"
    answers = []
    for first in range(0, len(ids), 500):
        np.save(folder / "batch.npy", ids[first : first + 500])
        subprocess.run([shoal, "run", model, "--input", f"ids={folder / 'batch.npy'}", "--save", outputs],
                       check=True, capture_output=True)
        answers.append(np.load(next(outputs.glob("*.npy"))))
    first, second = np.split(np.concatenate(answers), 2)
    cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    return float(np.corrcoef(cosines, np.load(folder / f"{split}-scores.npy"))[0, 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shoal")
    parser.add_argument("shared", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--learn-tokens", type=int, default=20)
    parser.add_argument("--judge", type=Path, help="only judge this model")
    flags, words = parser.parse_known_args()
    flags.folder.mkdir(parents=True, exist_ok=True)
    write(flags.shared, flags.folder, flags.tokens, flags.learn_tokens)
    model = flags.shared / "models" / "use-lite-transformer.onnx"
    small = flags.judge or flags.folder / "small.onnx"
    result = {}
    if not flags.judge:
        data = ["--inputs", flags.folder / "dev-short.npy", "--test-inputs", flags.folder / "test-some.npy"]
        frozen = [word for pattern in FROZEN for word in ("--freeze", pattern)]
        done = subprocess.run([flags.shoal, "tprune", model, *data, *frozen, *(words or RECIPE), "--json", "-o", small],
                              check=True, stdout=subprocess.PIPE, text=True)
        result = json.loads(done.stdout.splitlines()[-1])
        result.pop("blocks")
    for split in ("dev", "test"):
        result[f"pearson_{split}"] = pearson(flags.shoal, small, flags.folder, split)
        if not flags.judge:
            result[f"pearson_{split}_before"] = pearson(flags.shoal, model, flags.folder, split)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
