"""Files with a sound checksum that say something else than what was saved."""

from __future__ import annotations

import copy
import io
import re
import struct
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Document = dict[str, Any]
Arrays = dict[str, Array]
Mutation = tuple[str, Document, Arrays]

NAN, INF = float("nan"), float("inf")
VALUES: list[Any] = [None, -1, 0, 9, 2**60, 10**400, 1.5, -1.5, NAN, INF, 1e300, "x", True]
VALUES += [[], {}, [1], [None], {"a": 1}]
NUMBERS = [NAN, INF, -INF, 0.0, -1.0, 3.0, 1e300, 1e90, -1e90, 1e74, -1e74, 1e-300]


def mutations(document: Document, arrays: Arrays) -> Iterator[Mutation]:
    """Each setting and each array replaced, left out, or changed in one place."""
    for path in _paths(document):
        for value in VALUES:
            yield f"{path} = {value!r:.20}", _with(document, path, value), arrays
        yield f"{path} left out", _without(document, path), arrays
    for name in arrays:
        yield f"{name} left out", document, {key: arrays[key] for key in arrays if key != name}
        for what, other in _others(arrays[name]):
            yield f"{name} {what}", document, {**arrays, name: other}


def _paths(document: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = document.items() if isinstance(document, dict) else enumerate(document[:1])
    for key, value in inside:
        yield (*before, key)
        # A schema's own tests are elsewhere.
        if isinstance(value, dict | list) and key != "schema":
            yield from _paths(value, (*before, key))


def _with(document: Document, path: tuple[Any, ...], value: Any) -> Document:
    changed = copy.deepcopy(document)
    _parent(changed, path)[path[-1]] = value
    return changed


def _without(document: Document, path: tuple[Any, ...]) -> Document:
    changed = copy.deepcopy(document)
    del _parent(changed, path)[path[-1]]
    return changed


def _parent(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


def _others(array: Array) -> Iterator[tuple[str, Array]]:
    for kind in ("i8", "f4", "c16", "U8"):
        yield f"as {kind}", array.astype(kind)
    yield "in Fortran's order", np.asfortranarray(array)
    yield "transposed", array.T.copy()
    yield "shorter", array[:-1]
    yield "longer", np.concatenate([array, array[-1:]])
    yield "deeper", array[None]
    yield "a number", np.array(1.0)
    for number in NUMBERS if array.size else []:
        for place in (0, slice(None)):
            changed = array.astype("f8")
            changed.flat[place] = number
            yield f"[{place}] = {number}", changed


def signed(word: str, body: bytes) -> bytes:
    """A file of version 1 with a sound checksum, whatever its body is."""
    title = f"{word} 1 ".encode()
    return title + sha256(title + body).hexdigest().encode() + b"\n" + body


def archived(**members: bytes) -> bytes:
    """An archive of members that need not be arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def altered(content: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """The file with bytes changed that say what the others are, and a sound checksum.

    By turns those of the archive, and those of its arrays in a sound archive.
    """
    title, _, body = content.partition(b"\n")
    word = title.split(b" ")[0].decode()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        members = {each.removesuffix(".npy"): archive.read(each) for each in archive.namelist()}
    while True:
        places = [found.start() for found in re.finditer(rb"PK", body)]
        yield signed(word, _changed(body, int(rng.choice(places)), rng))
        name = str(rng.choice(list(members)))
        yield signed(word, archived(**{**members, name: _changed(members[name], 0, rng)}))


def _changed(content: bytes, start: int, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        place = (start + int(rng.integers(80))) % len(content)
        changed[place] = int(rng.choice([rng.integers(256), *b"()[]{}'\"0, "]))
    return bytes(changed)


def overlapping(members: int, size: int) -> bytes:
    """An archive of about ``size`` bytes, each of whose arrays has all those that come after it."""
    rest, entries = bytes(size), []
    for name in [f"{k:04d}.npy".encode() for k in range(members)] + [b"settings.npy"]:
        start = b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': "
        data = (start + b"(%d,), }" % len(rest)).ljust(127) + b"\n" + rest
        sizes = (len(data), len(data), len(name), 0)
        facts = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, crc32(data), *sizes)
        rest = b"PK\x03\x04" + facts + name + data
        entries.append((facts, name, len(rest)))
    directory = b"".join(
        b"PK\x01\x02\x14\x00" + facts + struct.pack("<HHHII", 0, 0, 0, 0, len(rest) - end) + name
        for facts, name, end in entries
    )
    many = len(entries)
    end = struct.pack("<HHHHIIH", 0, 0, many, many, len(directory), len(rest), 0)
    return rest + directory + b"PK\x05\x06" + end
