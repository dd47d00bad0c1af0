"""Random streams by name: the same decision draws the same numbers, wherever it is made."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


class Streams:
    """Generators for named decisions, all from one seed.

    Examples
    --------
    >>> streams = Streams(7)
    >>> first = streams.of("visit-1").random()
    >>> streams.of("visit-2").random() == first, Streams(7).of("visit-1").random() == first
    (False, True)
    """

    def __init__(self, seed: int) -> None:
        self._keyed = hashlib.blake2b(digest_size=32, key=seed.to_bytes(8, "little"))
        # Of NumPy's generators the fastest to set and to draw normals from.
        self._generator = np.random.Generator(np.random.SFC64(0))
        self._state: dict[str, Any] = {"bit_generator": "SFC64", "has_uint32": 0, "uinteger": 0}

    def of(self, name: str) -> np.random.Generator:
        """The generator of ``name`` at its beginning, good until the next call."""
        hashed = self._keyed.copy()
        hashed.update(name.encode("utf-8", "surrogatepass"))
        self._state["state"] = {"state": np.frombuffer(hashed.digest(), dtype="<u8")}
        self._generator.bit_generator.state = self._state
        return self._generator
