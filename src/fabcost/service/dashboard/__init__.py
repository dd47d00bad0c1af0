"""Pages for people: the dashboard and the reference of the API, static files that ask the server.

The reference is Swagger UI, of which two files are read from the package that has them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_SWAGGER = ("swagger-ui-bundle.js", "swagger-ui.css")


class Asset(NamedTuple):
    """A file of the page: its bytes, its media type, and a tag that changes with its bytes."""

    content: bytes
    media_type: bytes
    tag: bytes


def read_assets(images: str = "") -> dict[str, Asset]:
    """All files of the pages by name; they show pictures of these origins, too."""
    found: dict[str, Asset] = {}
    for name, read in _contents():
        content = read.replace(b'data-images=""', f'data-images="{images}"'.encode())
        if kind := _TYPES.get(name.rpartition(".")[2]):
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'.encode()
            found[name] = Asset(content, kind, tag)
    return found


def _contents() -> Iterator[tuple[str, bytes]]:
    for file in files(__name__).joinpath("static").iterdir():
        yield file.name, file.read_bytes()
    found = find_spec("swagger_ui")  # which is not imported: its code would ask for more
    for folder in () if found is None else found.submodule_search_locations or ():
        for name in _SWAGGER:
            yield name, (Path(folder) / "static" / name).read_bytes()
