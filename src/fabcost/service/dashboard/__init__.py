"""The dashboard: one page of static files, which asks the native API for all it shows."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}


class Asset(NamedTuple):
    """A file of the page: its bytes, its media type, and a tag that changes with its bytes."""

    content: bytes
    media_type: bytes
    tag: bytes


def read_assets() -> dict[str, Asset]:
    """All files of the page by name."""
    found: dict[str, Asset] = {}
    for file in files(__name__).joinpath("static").iterdir():
        if kind := _TYPES.get(file.name.rpartition(".")[2]):
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'.encode()
            found[file.name] = Asset(content, kind, tag)
    return found
