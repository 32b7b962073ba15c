#!/usr/bin/python3
"""Seeds of formats_fuzz.cc: make_formats.py writes tests/fuzz/corpus/formats. A seed begins with the letter of its format.

Keys and certificates are random, so those that are there stay.
"""
import gzip
import io
import json
import pathlib
import struct
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "corpus" / "formats"
FORMATS = ("safetensors", "npy", "image", "idx", "cifar", "labels", "preset", "external_data", "pem", "cluster_file",
           "packed_cache", "profile", "plan_file")  # as kFormats of formats_fuzz.cc


def seed(name, content):
    letter = bytes([ord("a") + FORMATS.index(name.split("-")[0])])
    (FOLDER / name).write_bytes(letter + content)


def pair(first, second):
    return struct.pack("<H", len(first)) + first + second


# Protocol buffers, as far as stored.proto needs them.
def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def whole(field, number):
    return varint(field << 3) + varint(number)


def real(field, number):
    return varint(field << 3 | 1) + struct.pack("<d", number)


def block(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def add_tensors():
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                         "__metadata__": {"a": "b"}}).encode()
    seed("safetensors-one", struct.pack("<Q", len(header)) + header + bytes(8))
    seed("safetensors-none", struct.pack("<Q", 2) + b"{}")
    for dtype in "f4", "u1", "i8", "?":
        out = io.BytesIO()
        np.save(out, np.ones([2, 3], dtype))
        seed(f"npy-{'bool' if dtype == '?' else dtype}", out.getvalue())


def add_images():
    pixels = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    for name, image, how in [("jpeg", Image.fromarray(pixels), {"format": "JPEG"}),
                             ("progressive", Image.fromarray(pixels), {"format": "JPEG", "progressive": True}),
                             ("grey-jpeg", Image.fromarray(pixels[:, :, 0]), {"format": "JPEG"}),
                             ("png", Image.fromarray(pixels), {"format": "PNG"}),
                             ("palette", Image.fromarray(pixels).quantize(4), {"format": "PNG"}),
                             ("alpha", Image.fromarray(pixels).convert("RGBA"), {"format": "PNG"})]:
        out = io.BytesIO()
        image.save(out, **how)
        seed(f"image-{name}", out.getvalue())


def add_data_sets():
    images = struct.pack(">IIII", 0x803, 2, 3, 3) + bytes(range(18))
    labels = struct.pack(">II", 0x801, 2) + b"\1\2"
    seed("idx-plain", pair(images, labels))
    seed("idx-gzip", pair(gzip.compress(images, mtime=0), gzip.compress(labels, mtime=0)))
    seed("idx-short", pair(images[:-4], labels))
    seed("cifar-two", b"\1" + bytes(3072) + b"\2" + bytes(3072))
    seed("labels-some", b"a.png 1\nsub/b.jpg\t2 more\n\n")
    seed("labels-outside", b"../a.png 1\n/etc/passwd 0\n")
    seed("preset-all", json.dumps({"resize": 8, "crop": 4, "stretch": False, "mean": [0.5], "std": [0.25],
                                   "channels": 3, "scale": True, "bgr": False, "nhwc": True}).encode())


def add_external_data():
    def model(*entries):
        tensor = TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
        for key, value in entries:
            tensor.external_data.add(key=key, value=value)
        graph = helper.make_graph([helper.make_node("Relu", ["w"], ["y"])], "g", [],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])], [tensor])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()

    seed("external_data-whole", pair(model(("location", "w.bin")), bytes(8)))
    seed("external_data-part", pair(model(("location", "w.bin"), ("offset", "4"), ("length", "8")), bytes(16)))
    seed("external_data-outside", pair(model(("location", "../w.bin"), ("offset", "-1")), bytes(8)))


def add_certificates():
    with tempfile.TemporaryDirectory() as folder:
        def openssl(*words):
            return subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder).stdout

        key = openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "key") or b""
        texts = {"key": openssl("pkey", "-in", "key"), "request": openssl("req", "-new", "-key", "key", "-subj", "/CN=a"),
                 "certificate": openssl("req", "-new", "-x509", "-key", "key", "-subj", "/O=0123456789abcdef/CN=a")}
    texts["encrypted"] = (b"-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"
                          + b"0" * 32 + b"\n\n" + b"A" * 43 + b"=\n-----END CERTIFICATE REQUEST-----\n")
    texts["token"] = b"shoal1/127.0.0.1:7071/" + b"0" * 64 + b"/" + b"1" * 32
    for name, text in texts.items():
        if not (FOLDER / f"pem-{name}").exists():
            seed(f"pem-{name}", key + text)


def add_clusters():
    reference = (FOLDER.parents[3] / "docs" / "reference" / "cluster.md").read_text()
    seed("cluster_file-reference", reference.split("```toml\n")[1].split("```")[0].encode())
    seed("cluster_file-no-name", b"[!]\n")
    seed("cluster_file-letter", "[[wor\u0403ker]]\n".encode())
    seed("cluster_file-short", b'[[worker]]\ndevice = "pi4"\nlink = "gigabit"\ncount = 2\n')
    entry = struct.pack("<QQQQ", 1, 128, 4, 0)
    seed("packed_cache-none", b"\0" + bytes(23))
    seed("packed_cache-one", b"\1" + entry + bytes(48))
    seed("packed_cache-beyond", b"\2" + entry + struct.pack("<QQQQ", 2, 2**63, 2**62, 0) + bytes(16))
    speed = block(1, b"") + real(2, 1e-6) + real(3, 1e-9) + real(4, 1e-9)
    link = real(1, 1e-3) + real(2, 1e8) + real(4, 1e18)
    workers = b"".join(block(3, block(1, name) + block(2, speed) + real(4, 1e9)) for name in (b"a", b"b"))
    seed("profile-two", whole(1, 1) + whole(2, 1_800_000_000) + workers + block(4, link) * 2 + block(5, link))
    piece = whole(1, 30) + block(2, b"\0\0") + block(3, b"\1\n")
    task = whole(1, 0) + block(2, piece)
    segment = whole(1, 0) + whole(2, 12) + block(3, b"none") + block(4, task)
    seed("plan_file-one", whole(1, 1) + block(2, b"one worker") + block(4, segment))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for add in add_tensors, add_images, add_data_sets, add_external_data, add_certificates, add_clusters:
        add()
    print(f"{len(list(FOLDER.iterdir()))} seeds")


if __name__ == "__main__":
    main()
