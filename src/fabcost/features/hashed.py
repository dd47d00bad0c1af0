"""A schema whose columns are chosen by a hash of their names, so that it never grows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.features.items import EncodedItems
from fabcost.features.kinds import Term
from fabcost.features.reader import Reader, ReadItems, Record
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.sparse import SparseRows

_HASH_BYTES = 6  # 48 bits, which a float holds
_LARGEST_MEMORY = 1_000_000  # labels whose hashes are remembered


class HashedSchema(Schema):
    """The features and crosses of a schema, as sparse rows over 2^bits columns.

    Records are read as by the schema that is given: kinds, numbers that scale themselves, dates
    and what is refused are its own.  But every label is in the column that BLAKE2b of its UTF-8
    name chooses, and a cross of two in that of a hash of both hashes; the constant is in column
    0.  So there is no list of labels, names that meet in a column share its weight, and what
    grows are features only.

    Parameters
    ----------
    schema
        What it reads; it goes on growing by itself.
    bits
        Of the number of columns.

    Examples
    --------
    >>> schema = HashedSchema(Schema.open(), bits=20)
    >>> items = schema.encode_items({"ad-1": {"make": "kia", "age": 3}, "ad-2": {"age": 5}})
    >>> rows = schema.folded({"device": "tv"}, items)
    >>> rows.shape, np.diff(rows.starts)
    ((2, 1048576), array([6, 4]))
    >>> sorted(schema.names({"device": "tv"}, {"make": "ford"}).values())
    ['bias', 'device=tv', 'device=tv × make=ford', 'make=ford']
    """

    def __init__(self, schema: Schema, bits: int) -> None:
        self.bits = bits
        self._memory: dict[str, float] = {}
        self._crossed: tuple[Any, npt.NDArray[np.int64]] = ((), np.empty((0, 2), dtype=np.int64))
        growth, bias = schema._growth, schema._layout.bias
        super().__init__(
            growth.declared,
            crosses=growth.crosses,
            bias=bias,
            openness=schema.openness,
            most_columns=None,
        )
        steps = schema.steps_since(0)
        self.regrow([each for each in steps if isinstance(each, dict) and "name" in each])

    def copy(self) -> HashedSchema:
        """The same schema, to go on by itself."""
        return HashedSchema(self, self.bits)

    @property
    def width(self) -> int:
        """How many columns there are, used or not."""
        return int(2**self.bits)

    @property
    def columns(self) -> tuple[str, ...]:
        """None: a column has no name of its own; see `names`."""
        return ()

    @property
    def grows(self) -> bool:
        """Whether a new value can add a column, which it cannot."""
        return False

    def limit_columns(self, most: int | None) -> None:
        """Nothing: there are no more columns than there are."""

    def place_items(self, reader: Reader, read: ReadItems) -> EncodedItems:
        """`encode_items` for items that have been read, after `grow_to`.

        Their parts are hash and number of each feature by turns.
        """
        parts = np.zeros((len(read.terms), 2 * len(reader.names("item"))))
        for row, terms in zip(parts, read.terms, strict=True):
            row[: 2 * len(terms)] = self._hashed(terms)
        return EncodedItems(self, read.names, parts)

    def drawn(self, terms: list[Term], items: EncodedItems) -> SparseRows:  # type: ignore[override]
        """`folded` for a context that has been read, after `grow_to`."""
        layout = self._layout
        given = (self._hashed(terms), items.parts, self._pairs(), self.bits, layout.bias)
        starts, columns, values = kernels.hashed_rows(*given)
        return SparseRows(starts, columns, values, self.width)

    def folded(self, context: Record, items: EncodedItems) -> SparseRows:  # type: ignore[override]
        """The rows of items in a context."""
        return super().folded(context, items)  # type: ignore[return-value]

    def names(self, context: Record, item: Record) -> dict[int, str]:
        """What is in each column of an item's row in a context; those that meet are joined."""
        reader = self.reader()
        terms = reader.read(context, "context")
        terms += reader.read(item, "item")
        hashes, mask = self._hashed(terms)[::2].tolist(), self.width - 1
        found: list[tuple[int, str]] = [(0, "bias")] if self._layout.bias else []
        found += [
            (int(each) & mask, term.label)
            for term, each in zip(terms, hashes, strict=True)
            if term.number
        ]
        found += [
            (int(kernels.crossed_hash(hashes[i], hashes[j])) & mask, f"{a.label} × {b.label}")
            for i, j in self._pairs().tolist()
            if max(i, j) < len(terms)
            for a, b in [(terms[i], terms[j])]
            if a.number and b.number
        ]
        names: dict[int, str] = {}
        for column, name in found:
            names[column] = f"{names[column]}, {name}" if column in names else name
        return names

    def _hashed(self, terms: Sequence[Term]) -> FloatArray:
        """Hash and number of each term by turns."""
        memory = self._memory
        found: list[float] = []
        for label, number in terms:
            known = memory.get(label)
            if known is None:
                known = _hash(label)
                if len(memory) < _LARGEST_MEMORY:
                    memory[label] = known
            found += (known, number)
        return np.array(found, dtype=np.float64)

    def _pairs(self) -> npt.NDArray[np.int64]:
        """Places of features that are crossed, those of the context before those of the item."""
        layout = self._layout
        known = (len(layout.blocks), len(layout.crosses))
        if self._crossed[0] != known:
            blocks = [*layout.by_role["context"], *layout.by_role["item"]]
            place = {block: k for k, block in enumerate(blocks)}
            pairs = [(place[each.first], place[each.second]) for each in layout.crosses]
            self._crossed = known, np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return self._crossed[1]

    def _placed(self, source: Any, drop: Any) -> NoReturn:  # noqa: ARG002
        raise ValueError(f"rows of 2^{self.bits} columns are sparse: use folded in place of design")


def hashed(schema: Schema, bits: int) -> HashedSchema:
    """A schema with hashed columns; one that has them already must have as many.

    Examples
    --------
    >>> hashed(hashed(Schema.open(), bits=20), bits=10)
    Traceback (most recent call last):
    ValueError: the schema has 2^20 columns but the belief 2^10 weights
    """
    if isinstance(schema, HashedSchema) and schema.bits != bits:
        raise ValueError(f"the schema has 2^{schema.bits} columns but the belief 2^{bits} weights")
    return HashedSchema(schema, bits)


def _hash(label: str) -> float:
    written = label.encode("utf-8", "surrogatepass")
    return float(int.from_bytes(hashlib.blake2b(written, digest_size=_HASH_BYTES).digest(), "big"))
