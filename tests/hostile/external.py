"""External data outside the model's folder, nowhere, or beyond the end; and odd model files."""

import os
from pathlib import Path

from onnx import StringStringEntryProto, TensorProto, helper

from case import MODEL_FILE, SECRET_FILE, Theme, f32, make_model, raw_tensor

THEME = Theme("external")
X = {"x": f32(4) * 0}
SIXTEEN_BYTES = f32(4).tobytes()


def external_model(dims=(4,), **entries) -> bytes:
    """y = x + w, with x zero: a w read from anywhere lands in the answer as it is."""
    proto = make_model([helper.make_node("Add", ["x", "w"], ["y"])], X)
    pairs = [StringStringEntryProto(key=key, value=str(text)) for key, text in entries.items()]
    tensor = raw_tensor("w", dims, external_data=pairs, data_location=TensorProto.EXTERNAL)
    proto.graph.initializer.append(tensor)
    return proto.SerializeToString()


def secret(folder: Path) -> Path:
    return folder.parent / SECRET_FILE


def located(name: str, location, prepare=lambda folder: None) -> None:
    """`location` is a string, or a function of the folder that gives one."""

    def build(folder):
        prepare(folder)
        return external_model(location=location(folder) if callable(location) else location)

    THEME.add(name, build, feeds=X)


located("parent_folder", f"../{SECRET_FILE}")
located("parent_folder_behind_a_dot", f"./../{SECRET_FILE}")
located(
    "parent_folder_behind_a_subfolder", f"sub/../../{SECRET_FILE}", lambda f: (f / "sub").mkdir()
)
located("parent_folder_with_doubled_slashes", f"..//.//{SECRET_FILE}")
located("absolute_path", lambda folder: secret(folder))
located("absolute_path_with_doubled_slash", lambda folder: f"/{secret(folder)}")
located(
    "absolute_path_into_the_folder",
    lambda f: f / "w.bin",
    lambda f: (f / "w.bin").write_bytes(SIXTEEN_BYTES),
)
located("file_url", lambda folder: f"file://{secret(folder)}")
located("symlink", "w.bin", lambda f: (f / "w.bin").symlink_to(secret(f)))
located("relative_symlink", "w.bin", lambda f: (f / "w.bin").symlink_to(Path("..") / SECRET_FILE))
located("symlinked_folder", "sub/secret.bin", lambda f: (f / "sub").symlink_to(secret(f).parent))
located("hard_link", "w.bin", lambda f: os.link(secret(f), f / "w.bin"))


@THEME.case(feeds=X)
def chain_of_symlinks(folder):
    (folder / "a.bin").symlink_to("b.bin")
    (folder / "b.bin").symlink_to(secret(folder))
    return external_model(location="a.bin")


located("symlink_to_itself", "w.bin", lambda f: (f / "w.bin").symlink_to("w.bin"))
located("endless_device", "/dev/zero")
located("symlink_to_an_endless_device", "w.bin", lambda f: (f / "w.bin").symlink_to("/dev/zero"))
located("process_environment", "/proc/self/environ")
located("fifo", "w.bin", lambda f: os.mkfifo(f / "w.bin"))
located("folder_as_data", "sub", lambda f: (f / "sub").mkdir())
located("own_folder_as_data", ".")
located("missing_file", "w.bin")
located("file_as_a_folder", "w.bin/w.bin", lambda f: (f / "w.bin").write_bytes(SIXTEEN_BYTES))
located("empty_location", "")
located(
    "location_with_nul",
    f"w.bin\0/../{SECRET_FILE}",
    lambda f: (f / "w.bin").write_bytes(SIXTEEN_BYTES),
)
located("location_with_newlines", "no\nsuch\x1b[31mfile\n")
located("location_of_a_megabyte", "w" * 1_000_000)
located("location_of_many_folders", "w/" * 100_000 + "w.bin")
located("empty_file_as_data", "w.bin", lambda f: (f / "w.bin").write_bytes(b""))
located(
    "file_shorter_than_the_tensor", "w.bin", lambda f: (f / "w.bin").write_bytes(SIXTEEN_BYTES[:15])
)


def ranged(name: str, dims=(4,), **entries) -> None:
    """A good file of 64 bytes, asked for a part that is not there."""

    def build(folder):
        (folder / "w.bin").write_bytes(SIXTEEN_BYTES * 4)
        return external_model(dims, location="w.bin", **entries)

    THEME.add(name, build, feeds=X)


ranged("offset_past_the_end", offset=65, length=16)
ranged("offset_that_leaves_too_little", offset=49, length=16)
ranged("offset_without_length_past_the_end", offset=49)
ranged("offset_negative", offset=-16, length=16)
ranged("offset_of_63_bits", offset=2**63 - 1, length=16)
ranged("offset_beyond_64_bits", offset=2**64 + 16, length=16)
ranged("offset_plus_length_overflows", offset=2**64 - 16, length=16)
ranged("offset_not_a_number", offset="16abc", length=16)
ranged("offset_in_words", offset="sixteen", length=16)
ranged("length_huge", offset=0, length=2**62)
ranged("length_past_the_end", offset=0, length=65)
ranged("length_negative", offset=0, length=-16)
ranged("length_shorter_than_the_tensor", offset=0, length=12)
ranged("length_longer_than_the_tensor", offset=0, length=20)
ranged("dims_huge", (2**58, 4), offset=0)
ranged("dims_negative", (-4,), offset=0, length=16)


@THEME.case(feeds=X)
def no_location(folder):
    return external_model(offset=0, length=16)


@THEME.case(feeds=X)
def no_entries(folder):
    return external_model()


@THEME.case()
def model_is_missing(folder):
    return None


@THEME.case()
def model_is_a_folder(folder):
    (folder / MODEL_FILE).mkdir()


@THEME.case()
def model_is_a_fifo(folder):
    os.mkfifo(folder / MODEL_FILE)


@THEME.case()
def model_is_an_endless_device(folder):
    (folder / MODEL_FILE).symlink_to("/dev/zero")


@THEME.case()
def model_is_a_symlink_to_itself(folder):
    (folder / MODEL_FILE).symlink_to(MODEL_FILE)


@THEME.case(unprivileged=True)
def model_is_unreadable(folder):
    path = folder / MODEL_FILE
    path.write_bytes(make_model([helper.make_node("Relu", ["x"], ["y"])], X).SerializeToString())
    path.chmod(0)
