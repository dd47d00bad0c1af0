"""Random streams by name: the same decision draws the same numbers, wherever it is made."""

from __future__ import annotations

import hashlib

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
        self._generator = np.random.Generator(np.random.PCG64(0))

    def of(self, name: str) -> np.random.Generator:
        """The generator of ``name`` at its beginning, good until the next call."""
        hashed = self._keyed.copy()
        hashed.update(name.encode("utf-8", "surrogatepass"))
        digest = hashed.digest()
        self._generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": int.from_bytes(digest[:16], "little"),
                "inc": int.from_bytes(digest[16:], "little") | 1,
            },
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator
