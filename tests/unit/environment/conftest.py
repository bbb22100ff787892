"""Tiny wheels made by hand (a wheel is a zip archive), in a directory that serves as the offline source."""

from __future__ import annotations

import base64
import hashlib
import zipfile

import pytest


def make_wheel(directory, name, version, files=None, requires=()):
    """Write ``<name>-<version>-py3-none-any.whl`` holding ``files`` {path: text}; returns its path."""
    stem = f"{name}-{version}"
    info = f"{stem}.dist-info"
    metadata = "".join(f"{line}\n" for line in ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"))
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    contents = {
        **(files if files is not None else {f"{name}/__init__.py": f"VERSION = {version!r}\n"}),
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    record += f"{info}/RECORD,,\n"
    path = directory / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_in, text in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(name_in, text)
    return path


# Importing it fails: nothing here may import SGLang.
SGLANG = {"sglang/__init__.py": "raise SystemExit('sglang was imported')\n", "sglang/launch_server.py": "import torch\n"}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """A wheel directory with sglang 0.5.17 (which requires dep), dep 1.0 and dep 2.0."""
    directory = tmp_path_factory.mktemp("wheels")
    make_wheel(directory, "sglang", "0.5.17", SGLANG, requires=["dep"])
    make_wheel(directory, "dep", "1.0")
    make_wheel(directory, "dep", "2.0")
    return directory
