"""Learners and recommenders on disk: one versioned file, checked on reading, without pickle.

A line of text (format, version, SHA-256 of these and of the rest), then NumPy's own npz with the
arrays and the settings as JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_LONGEST_HEADER = 200
_MOST_ARRAYS = 100
_MALFORMED = (
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
)
# Where a zip archive says that it has a member, and what NumPy writes before an array.
_MEMBER = b"PK\x01\x02"
_BEFORE = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][a-zA-Z]\d{1,9})', "
    rb"'fortran_order': (True|False), 'shape': \(((?:\d{1,18}(?:, |,)?){0,32})\), \} *\n",
    re.DOTALL,
)


class Format(NamedTuple):
    """A kind of file: the word it begins with, the newest version, and what it holds.

    Examples
    --------
    >>> Format("fabcost-learner", 1, "learner").what
    'learner'
    """

    word: str
    version: int
    what: str


@contextmanager
def told_of(source: str, kind: Format) -> Iterator[None]:
    """Whatever is wrong with what a file says is a ValueError that names the file.

    Examples
    --------
    >>> with told_of("the file", Format("fabcost-learner", 1, "learner")):
    ...     {}["seen"]
    Traceback (most recent call last):
    ValueError: the file is of no learner that can be: KeyError('seen')
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{source} is of no {kind.what} that can be: {error}") from error
    except _MALFORMED as error:
        raise ValueError(f"{source} is of no {kind.what} that can be: {error!r}") from error


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file through to the disk beside the old one, then replace that in one step.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(f"{folder}/file", b"content")
    ...     Path(f"{folder}/file").read_bytes()
    b'content'
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(target)


def pack(kind: Format, settings: dict[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Settings (plain JSON values) and arrays as the bytes of one file.

    Examples
    --------
    >>> pack(Format("fabcost-learner", 1, "learner"), {}, {})[:17]
    b'fabcost-learner 1'
    """
    buffer = io.BytesIO()
    text: Array = np.frombuffer(json.dumps(settings).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, settings=text, **arrays)
    body = buffer.getvalue()
    return _header(kind.word, kind.version, body) + body


def unpack(
    kind: Format, content: bytes, source: str = "the data", *, most_settings: int | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Settings and arrays of `pack`; a ValueError names ``source`` and what is wrong with it.

    No more memory is taken than the content has bytes, but for the settings, which are many times
    as large when they are read: ``most_settings`` bounds their bytes.

    Examples
    --------
    >>> learner = Format("fabcost-learner", 1, "learner")
    >>> unpack(learner, pack(learner, {"seen": 3}, {}))
    ({'seen': 3}, {})
    """
    body = _checked_body(kind, content, source)
    with told_of(source, kind):
        arrays = _read_arrays(body)
        text = arrays.pop("settings")
        if most_settings is not None and text.nbytes > most_settings:
            raise ValueError(
                f"its settings have {text.nbytes:,} bytes but may have {most_settings:,}"
            )
        settings = json.loads(text.tobytes())
        if not isinstance(settings, dict):
            raise ValueError("its settings are not a dictionary")
    return settings, arrays


def _read_arrays(body: bytes) -> dict[str, Array]:
    if body.count(_MEMBER) > _MOST_ARRAYS:
        raise ValueError(f"it holds more than {_MOST_ARRAYS} arrays")
    with zipfile.ZipFile(io.BytesIO(body)) as members:
        _check_members(members, len(body))
        return {
            member.filename.removesuffix(".npy"): _array(member.filename, members.read(member))
            for member in members.infolist()
        }


def _check_members(members: zipfile.ZipFile, size: int) -> None:
    """Nothing that was written here is compressed or twice: a small file stays small."""
    for member in members.infolist():
        if member.compress_type != zipfile.ZIP_STORED or not member.filename.endswith(".npy"):
            raise ValueError(f"it holds {member.filename!r}, which is not a plain array")
    together = sum(member.compress_size for member in members.infolist())
    if together > size:
        raise ValueError(f"its arrays have {together:,} bytes together but the file has {size:,}")


def _array(name: str, content: bytes) -> Array:
    """What `numpy.save` wrote, which is told from all else without evaluating any of it."""
    found = _BEFORE.match(content)
    if found is None or found.end() != 10 + int.from_bytes(content[8:10], "little"):
        raise ValueError(f"{name!r} does not begin like a plain array")
    kind = np.dtype(found[1].decode())
    shape = tuple(int(size) for size in found[3].replace(b" ", b"").split(b",") if size)
    if math.prod(shape) * kind.itemsize != len(content) - found.end():
        raise ValueError(f"{name!r} should be of shape {shape} but has another size")
    flat = np.frombuffer(content, kind, offset=found.end()) if math.prod(shape) else np.empty(0)
    return np.array(
        flat.astype(kind, copy=False).reshape(shape, order="F" if found[2] == b"True" else "C")
    )


def _header(word: str, version: int, body: bytes) -> bytes:
    title = f"{word} {version} "
    digest = hashlib.sha256(title.encode() + body).hexdigest()
    return f"{title}{digest}\n".encode()


def _checked_body(kind: Format, content: bytes, source: str) -> bytes:
    line, _, body = content.partition(b"\n")
    words = line[:_LONGEST_HEADER].decode("ascii", errors="replace").split(" ")
    if words[0] != kind.word or len(words) != 3 or not words[1].isdecimal():
        raise ValueError(
            f"{source} is not a saved {kind.what}: it does not begin with {kind.word!r}"
        )
    version = int(words[1])
    if version > kind.version:
        raise ValueError(
            f"{source} has format version {version} but this fabcost reads up to {kind.version}: "
            "upgrade fabcost to read it"
        )
    if _header(kind.word, version, body) != line + b"\n":
        raise ValueError(
            f"{source} is truncated or altered: its checksum is not the one it was saved with"
        )
    return body
