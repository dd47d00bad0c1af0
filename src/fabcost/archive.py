"""Learners and recommenders on disk: one versioned file, checked on reading, without pickle.

A line of text (format, version, SHA-256 of these and of the rest), then NumPy's own npz with the
arrays and the settings as JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.inference.fabcost import FabCost

Array = npt.NDArray[Any]

_LONGEST_HEADER = 200
_MALFORMED = (
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
    NotImplementedError,
)


class Format(NamedTuple):
    """A kind of file: the word it begins with, the newest version, and what it holds.

    Examples
    --------
    >>> LEARNER.what
    'learner'
    """

    word: str
    version: int
    what: str


LEARNER = Format("fabcost-learner", 1, "learner")


def save(learner: FabCost, path: str | os.PathLike[str]) -> None:
    """Write a learner to ``path``; a file already there is replaced in one step.

    Examples
    --------
    >>> import fabcost, tempfile
    >>> learner = fabcost.FabCost(fabcost.Gaussian.isotropic(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fabcost.save(learner, f"{folder}/learner.fabcost")
    ...     fabcost.load(f"{folder}/learner.fabcost").seen
    0
    """
    replace_file(path, to_bytes(learner))


def load(path: str | os.PathLike[str]) -> FabCost:
    """Read a learner; what it learns from then on has the same bits as if it had never stopped.

    A file that is truncated, altered or of a newer version is a ValueError that says so.

    Examples
    --------
    >>> load("no-such-file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file'
    """
    return from_bytes(Path(path).read_bytes(), source=str(path))


def to_bytes(learner: FabCost) -> bytes:
    """The file of `save` as bytes.

    Examples
    --------
    >>> from fabcost import Gaussian
    >>> to_bytes(FabCost(Gaussian.isotropic(2)))[:17]
    b'fabcost-learner 1'
    """
    return pack(LEARNER, *learner.state())


def from_bytes(content: bytes, *, source: str = "the data") -> FabCost:
    """The learner of `to_bytes`; ``source`` names the data in errors.

    Examples
    --------
    >>> from_bytes(b"something else")
    Traceback (most recent call last):
    ValueError: the data is not a saved learner: it does not begin with 'fabcost-learner'
    """
    settings, arrays = unpack(LEARNER, content, source)
    with told_of(source, LEARNER):
        return FabCost.restored(settings, arrays)


@contextmanager
def told_of(source: str, kind: Format) -> Iterator[None]:
    """Whatever is wrong with what a file says is a ValueError that names the file.

    Examples
    --------
    >>> with told_of("the file", LEARNER):
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
    >>> pack(LEARNER, {}, {})[:17]
    b'fabcost-learner 1'
    """
    buffer = io.BytesIO()
    text: Array = np.frombuffer(json.dumps(settings).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, settings=text, **arrays)
    body = buffer.getvalue()
    return _header(kind.word, kind.version, body) + body


def unpack(
    kind: Format, content: bytes, source: str = "the data"
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Settings and arrays of `pack`; a ValueError names ``source`` and what is wrong with it.

    Examples
    --------
    >>> unpack(LEARNER, pack(LEARNER, {"seen": 3}, {}))
    ({'seen': 3}, {})
    """
    body = _checked_body(kind, content, source)
    with told_of(source, kind):
        _check_sizes(body)
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        settings = json.loads(arrays.pop("settings").tobytes())
        if not isinstance(settings, dict):
            raise ValueError("its settings are not a dictionary")
    return settings, arrays


def _check_sizes(body: bytes) -> None:
    """Nothing that was written here is compressed: a small file cannot fill the memory."""
    with zipfile.ZipFile(io.BytesIO(body)) as members:
        for member in members.infolist():
            if member.compress_type != zipfile.ZIP_STORED or not member.filename.endswith(".npy"):
                raise ValueError(f"it holds {member.filename!r}, which is not a plain array")


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
