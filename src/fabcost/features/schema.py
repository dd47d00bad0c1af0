"""The schema: from raw records to rows of features."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fabcost.features import document, inference
from fabcost.features.contrasts import Contrasts
from fabcost.features.encoding import read_source
from fabcost.features.folding import FoldedRows, Folding
from fabcost.features.growth import ColumnGrowth
from fabcost.features.items import EncodedItems, Placed, assemble, assemble_sparse, place
from fabcost.features.kinds import Feature, Term, Text
from fabcost.features.layout import MOST_COLUMNS, Squeezed, Step
from fabcost.features.prior import prior_of
from fabcost.features.reader import Openness, Reader, ReadItems, Record
from fabcost.features.tables.table import Table
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.prior import Prior
from fabcost.sparse import SparseRows

Pairs = Iterable[Sequence[str]]


class Schema:
    """Which features there are, and which column of a row is whose.

    A schema is *declared* if its columns are fixed.  It grows if it has `Text` features or was
    made with `open`: a value never seen before becomes a new column at the end, and columns never
    move.  Errors are found before anything grows.

    Parameters
    ----------
    features
        `Numeric`, `Boolean`, `Categorical` and `Text` features of the context and of the item.
    crosses
        Pairs of names; a pair has a column for each pair of columns of its features.  Without
        crosses between context and item the context moves all candidates alike.
    bias
        Whether the first column is 1 in every row.
    most_columns
        That may be declared: more are refused before any is made.  None for any number.

    Examples
    --------
    >>> from fabcost import Categorical, Numeric
    >>> device = Categorical("device", role="context", levels=("mobile", "desktop"))
    >>> schema = Schema([device, Numeric("age", mean=3.0)], crosses=[("device", "age")])
    >>> schema.columns[1:5]
    ('device=mobile', 'device=desktop', 'age', 'device=mobile × age')
    >>> schema.rows({"device": "mobile"}, schema.encode_items({"ad-1": {"age": 5}}))
    array([[1., 1., 0., 2., 2., 0.]])
    """

    def __init__(
        self,
        features: Iterable[Feature] = (),
        *,
        crosses: Pairs = (),
        bias: bool = True,
        openness: Openness | None = None,
        most_columns: int | None = MOST_COLUMNS,
    ) -> None:
        self.openness = openness
        self._growth = ColumnGrowth(openness, bias=bias)
        self._layout = self._growth.layout
        self._folding: Folding | None = None
        self._reader: Reader | None = None
        for feature in features:
            self._growth.declare(feature, most_columns)
        for pair in crosses:
            self._growth.cross(pair, most_columns)

    @classmethod
    def open(
        cls,
        *,
        limit: int = 100,
        buckets: int = 16,
        crosses: bool = True,
        bias: bool = True,
        scaled: bool = True,
    ) -> Schema:
        """A schema without declarations: every new key and every new string gets its weight.

        The first value of a key decides its kind; a missing one contributes nothing.  There are
        at most ``limit`` features, each with at most ``limit`` strings of their own and
        ``buckets`` weights that later ones share.  With ``crosses`` every feature of the context
        is crossed with every feature of the item.  Numbers scale themselves and dates become
        their parts, unless ``scaled`` is False.

        Examples
        --------
        >>> schema = Schema.open()
        >>> rows = schema.rows({"device": "tv"}, schema.encode_items({1: {"make": "kia"}}))
        >>> schema.columns
        ('bias', 'make=kia', 'device=tv', 'device=tv × make=kia')
        """
        return cls(bias=bias, openness=document.checked_openness(limit, buckets, crosses, scaled))

    @classmethod
    def from_dict(
        cls, given: Mapping[str, Any], *, most_columns: int | None = MOST_COLUMNS
    ) -> Schema:
        """The schema of `to_dict`, or one that was written by hand.

        A document that needs more than ``most_columns`` is a ValueError, found by counting.

        Examples
        --------
        >>> make = {"kind": "categorical", "levels": ["ford", "kia"]}
        >>> Schema.from_dict({"features": {"make": make}, "bias": False}).columns
        ('make=ford', 'make=kia')
        """
        written = document.read(given)
        given = {"crosses": written.crosses, "bias": written.bias, "openness": written.openness}
        schema = cls(written.features, **given, most_columns=most_columns)
        schema.regrow(written.grown, most_columns=most_columns)
        schema._growth.scales.restore(written.seen)
        return schema

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a TOML file, with the keys of `from_dict`."""
        return cls.from_dict(document.load_toml(path))

    @classmethod
    def infer(
        cls,
        source: Any,
        *,
        context: Iterable[str] = (),
        drop: Iterable[str] = (),
        text: Iterable[str] = (),
        crosses: Pairs = (),
        most_levels: int = 50,
        other: bool = False,
        bias: bool = True,
    ) -> Schema:
        """A schema for a table: a DataFrame, other Arrow data, a mapping of arrays, or a file.

        Numbers are standardised by their mean and sd, skewed ones bounded; dates become parts.
        Strings are categorical up to ``most_levels`` different ones, else open text, as are the
        columns named in ``text``.  A column with missing values gets a weight for them.

        Examples
        --------
        >>> import pandas
        >>> frame = pandas.DataFrame({"age": [1.0, 3.0, None], "make": ["kia", "kia", "ford"]})
        >>> Schema.infer(frame).columns
        ('bias', 'age', 'age missing', 'make=ford', 'make=kia')
        """
        asked = inference.Asked(frozenset(context), frozenset(text), most_levels, other)
        features = inference.inferred(Table.of(source), asked, frozenset(drop))
        return cls(features, crosses=crosses, bias=bias)

    def fitted(self, source: Any) -> Schema:
        """The declared schema again, with mean and scale of each number learnt as by `infer`."""
        growth, bias = self._growth, self._layout.bias
        features = inference.fitted(growth.declared, Table.of(source))
        return Schema(features, crosses=growth.crosses, bias=bias, openness=self.openness)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values from which `from_dict` makes this schema, grown columns included."""
        return self._growth.written(self.openness)

    def copy(self) -> Schema:
        """The same schema, to grow on its own."""
        return Schema.from_dict(self.to_dict(), most_columns=None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; weight j of a belief belongs to column j."""
        return tuple(self._layout.columns)

    @property
    def width(self) -> int:
        """How many columns there are so far."""
        return len(self._layout.columns)

    @property
    def features(self) -> dict[str, Feature]:
        """The features by name."""
        return {name: block.feature for name, block in self._layout.blocks.items()}

    @property
    def grows(self) -> bool:
        """Whether a new value can add a column."""
        texts = (isinstance(each, Text) for each in self.features.values())
        return self.openness is not None or any(texts)

    @property
    def steps(self) -> int:
        """How often the schema has grown; see `steps_since`."""
        return len(self._layout.grown)

    def steps_since(self, count: int) -> list[Step]:
        """How it grew after its first ``count`` steps, in plain JSON, for `regrow`.

        Examples
        --------
        >>> schema = Schema.open()
        >>> items = schema.encode_items({1: {"make": "kia"}})
        >>> (other := Schema.open()).regrow(schema.steps_since(0))
        >>> other.columns == schema.columns, schema.steps_since(schema.steps)
        (True, [])
        """
        return [step.copy() for step in self._layout.grown[count:]]

    def regrow(self, steps: Iterable[Step], *, most_columns: int | None = MOST_COLUMNS) -> None:
        """Grow as an equal schema did, to ``most_columns`` at most."""
        self._reader = None
        for step in steps:
            self._growth.replay(step, most_columns)

    def become(self, other: Schema) -> None:
        """Be another schema, which is used no longer; what was encoded before is void."""
        vars(self).update(vars(other))

    def limit_columns(self, most: int | None) -> None:
        """From now on, give no columns to what is new and would need more than ``most`` in all.

        Such a string, number or boolean contributes nothing, then and later.  What has grown
        already, and what `regrow` repeats, is not limited; `to_dict` and `copy` forget the limit.

        Examples
        --------
        >>> schema = Schema.open()
        >>> schema.limit_columns(2)
        >>> schema.design([{"make": "kia"}, {"make": "ford"}])
        array([[1., 1.],
               [1., 0.]])
        """
        self._layout.most = most

    @property
    def squeezed(self) -> dict[str, Squeezed]:
        """Features whose new values share weights, or are left out, for want of columns."""
        return self._layout.squeezed.copy()

    def prior(self, prior: Prior, *, start: int = 0) -> Gaussian:
        """The belief about the weights of the columns from ``start`` on, before any impression.

        Weights of standardised features are independent, with the variances of ``prior``; a
        number that scales itself is standardised by what was seen of it.

        Examples
        --------
        >>> from fabcost import Prior
        >>> Schema.from_dict({"features": {"age": {"kind": "numeric"}}}).prior(Prior()).sd
        array([10.,  1.])
        """
        return prior_of(self._layout, self._growth.scales.constants, prior, start)

    def contrasts(self) -> Contrasts:
        """What its levels and numbers are compared by."""
        return Contrasts(self._layout, self._growth.scales.constants)

    def reader(self) -> Reader:
        """For reading records without growing yet; see `grow_to`."""
        if self._reader is None:
            self._reader = Reader(self.features, self.openness)
        # Only an open schema meets new features, which a reader collects.
        return self._reader if self.openness is None else self._reader.copy()

    def grow_to(self, reader: Reader) -> None:
        """Take over the features that ``reader`` met."""
        if reader.fresh:
            self._reader = None
        for feature in reader.fresh:
            self._growth.meet(feature)

    def encode_items(self, items: Mapping[Any, Record]) -> EncodedItems:
        """Read a catalogue once, for `rows` or `folded` in any number of contexts."""
        reader = self.reader()
        read = ReadItems.by(reader, items)
        self.grow_to(reader)
        return self.place_items(reader, read)

    def place_items(self, reader: Reader, read: ReadItems) -> EncodedItems:
        """`encode_items` for items that have been read, after `grow_to`."""
        placed = place(self._layout, reader.names("item"), read.terms)
        self._growth.see(placed)
        return EncodedItems(self, read.names, self._fold().parts(placed, len(read.names)))

    def rows(self, context: Record, items: EncodedItems) -> FloatArray:
        """One row for each item in this context."""
        return self.folded(context, items).dense()

    def folded(self, context: Record, items: EncodedItems) -> FoldedRows:
        """`rows` that are not written out: a bandit scores them in less time than that takes."""
        if items.schema is not self:
            raise ValueError("the items were encoded by another schema but must be by this one")
        reader = self.reader()
        terms = reader.read(context, "context")
        self.grow_to(reader)
        return self.drawn(terms, items)

    def drawn(self, terms: list[Term], items: EncodedItems) -> FoldedRows:
        """`folded` for a context that has been read, after `grow_to`."""
        layout, slots = self._layout, []
        for block, (label, _) in zip(layout.by_role["context"], terms, strict=True):
            known = block.slots.get(label)
            slots.append(layout.slot(block, label) if known is None else known)
        self._growth.see_context(terms)
        return self._fold().rows(items.parts, tuple(slots), [term.number for term in terms])

    def design(self, source: Any, *, drop: Iterable[str] = ()) -> FloatArray:
        """One row for each record or table row that has the keys of context and item together.

        ``source`` is an iterable of records or, encoded column by column, a table as in `infer`.
        Keys or columns in ``drop`` are left out.

        Examples
        --------
        >>> Schema.open().design({"age": [3, 5], "make": [None, "kia"]}, drop=["age"])
        array([[1., 0.],
               [1., 1.]])
        """
        return assemble(self._layout, *self._placed(source, drop))

    def sparse_design(self, source: Any, *, drop: Iterable[str] = ()) -> SparseRows:
        """`design` without the zeros, which pays with many one-hot columns: all learners take it.

        Examples
        --------
        >>> Schema.open().sparse_design([{"make": "kia"}, {"make": "ford"}]).columns
        array([0, 1, 0, 2])
        """
        return assemble_sparse(self._layout, *self._placed(source, drop))

    def __repr__(self) -> str:
        shown = ", ".join(self.columns[:5]) + (", …" if self.width > 5 else "")
        return f"Schema({self.width} columns: {shown})"

    def _fold(self) -> Folding:
        if self._folding is None or self._folding.width != len(self._layout.columns):
            self._folding = Folding(self._layout)
        return self._folding

    def _placed(self, source: Any, drop: Iterable[str]) -> tuple[dict[str, Placed], int]:
        reader = self.reader()
        place_in, count = read_source(reader, source, frozenset(drop))
        self.grow_to(reader)
        placed = place_in(self._layout)
        self._growth.see(placed)
        return placed, count
