"""Learners on disk: one versioned file, checked on reading, without pickle.

A line of text (format, version, SHA-256 of these and of the rest), then NumPy's own npz with the arrays and
the settings as JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.inference.fabcost import FabCost

FORMAT = "fabcost-learner"
VERSION = 1
_LONGEST_HEADER = 200


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
    target = Path(path)
    partial = target.with_name(f"{target.name}.partial")
    with partial.open("wb") as file:
        file.write(to_bytes(learner))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(target)


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
    settings, arrays = learner.state()
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(settings).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, settings=text, **arrays)
    body = buffer.getvalue()
    return _header(VERSION, body) + body


def from_bytes(content: bytes, *, source: str = "the data") -> FabCost:
    """The learner of `to_bytes`; ``source`` names the data in errors.

    Examples
    --------
    >>> from_bytes(b"something else")
    Traceback (most recent call last):
    ValueError: the data is not a saved learner: it does not begin with 'fabcost-learner'
    """
    settings, arrays = _read_body(_checked_body(content, source))
    return FabCost.restored(settings, arrays)


def _header(version: int, body: bytes) -> bytes:
    title = f"{FORMAT} {version} "
    digest = hashlib.sha256(title.encode() + body).hexdigest()
    return f"{title}{digest}\n".encode()


def _checked_body(content: bytes, source: str) -> bytes:
    line, _, body = content.partition(b"\n")
    words = line[:_LONGEST_HEADER].decode("ascii", errors="replace").split(" ")
    if words[0] != FORMAT or len(words) != 3 or not words[1].isdecimal():
        raise ValueError(f"{source} is not a saved learner: it does not begin with {FORMAT!r}")
    version = int(words[1])
    if version > VERSION:
        raise ValueError(
            f"{source} has format version {version} but this fabcost reads up to {VERSION}: "
            "upgrade fabcost to read it"
        )
    if _header(version, body) != line + b"\n":
        raise ValueError(
            f"{source} is truncated or altered: its checksum is not the one it was saved with"
        )
    return body


def _read_body(body: bytes) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    settings = json.loads(arrays.pop("settings").tobytes())
    return settings, arrays
