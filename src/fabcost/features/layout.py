"""Which column belongs to what: append-only, so that a weight never changes its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.features.kinds import Categorical, Feature, Role, Text

Places = npt.NDArray[np.intp]

#: Whose a column is: name and label of a feature, of two if it is a cross, of none if constant.
Owner = tuple[tuple[str, str], ...]
#: How the columns grew, in plain JSON: a feature's name and its new label, or a new feature.
Step = list[str] | dict[str, Any]
Squeezed = Literal["shared", "left out"]

#: Columns that a written schema may have: a posterior over so many weights has 80 GB.
MOST_COLUMNS = 100_000
#: Weights that a model may grow to unless it says otherwise: a visit takes milliseconds then.
MOST_WEIGHTS = 1_000
#: Share of the columns that the strings of one feature may take with their crosses.
FAIR_SHARE = 0.4
#: Characters that the names of its columns may have together.
MOST_CHARACTERS = 50_000_000


class Size(NamedTuple):
    """How many columns there would be, and how long their names are together.

    Examples
    --------
    >>> Size(2, 12).plus(Size(1, 3)), Size(2, 12).crossed(Size(1, 3))
    (Size(columns=3, characters=15), Size(columns=2, characters=24))
    """

    columns: int
    characters: int

    def plus(self, other: Size) -> Size:
        """Of both together."""
        return Size(self.columns + other.columns, self.characters + other.characters)

    def crossed(self, other: Size) -> Size:
        """Of a column for each pair, whose name has both names and three characters between."""
        pairs = self.columns * other.columns
        names = self.columns * other.characters + other.columns * self.characters
        return Size(pairs, names + 3 * pairs)


class Block:
    """The columns of one feature: label → slot, and slot → column.

    Examples
    --------
    >>> layout = Layout()
    >>> layout.add(Text("make")).where
    array([], dtype=int64)
    """

    def __init__(self, feature: Feature) -> None:
        self.feature = feature
        self.slots: dict[str, int] = {}
        self.named = 0
        self.characters = 0
        self.where: Places = np.empty(0, dtype=np.intp)
        self.crosses: list[Cross] = []
        self.partners: list[Block] = []
        self._mark = f"{feature.name}#"

    @property
    def size(self) -> Size:
        """Of its own columns, without crosses."""
        return Size(len(self.slots), self.characters)

    @property
    def shared(self) -> list[int]:
        """The slots that values past the limit share."""
        if len(self.slots) == self.named:
            return []
        return [slot for label, slot in self.slots.items() if label.startswith(self._mark)]


class Cross:
    """The columns of a cross: one for each pair of slots of its two features.

    Examples
    --------
    >>> from fabcost.features.kinds import Boolean
    >>> layout = Layout()
    >>> layout.cross(layout.add(Boolean("new")), layout.add(Boolean("mobile"))).where
    array([[2]])
    """

    def __init__(self, first: Block, second: Block) -> None:
        self.first = first
        self.second = second
        self.where: Places = np.empty((0, 0), dtype=np.intp)


class Layout:
    """All columns, in the order in which they came to be.

    A new label of an open feature gets the next column, and so does its pair with every label of
    each feature that it is crossed with.  What would need more than ``most`` columns in all gets
    none: a new label, and, if `has_room` is asked, a new feature.  If ``fair``, the labels of a
    feature share columns once they would take more than 40 % of those.  ``squeezed`` tells which
    features share ("shared") or have none ("left out").

    Examples
    --------
    >>> layout = Layout()
    >>> block = layout.add(Text("make", limit=1, buckets=1))
    >>> [layout.slot(block, label) for label in ("make=ford", "make=kia", "make=audi")]
    [0, 1, 1]
    >>> layout.columns
    ['make=ford', 'make#0']
    """

    def __init__(self, *, bias: bool = False) -> None:
        self.bias = bias
        self.columns: list[str] = ["bias"] if bias else []
        self.characters = len("bias") if bias else 0
        self.blocks: dict[str, Block] = {}
        self.by_role: dict[Role, list[Block]] = {"context": [], "item": []}
        self.crosses: list[Cross] = []
        self.grown: list[Step] = []
        self.most: int | None = None
        self.fair = False
        self.squeezed: dict[str, Squeezed] = {}

    def owners(self) -> list[Owner]:
        """Whose each column is, which its name need not tell: a feature may be called "bias"."""
        found: list[Owner] = [()] * len(self.columns)
        for name, block in self.blocks.items():
            for label, slot in block.slots.items():
                found[block.where[slot]] = ((name, label),)
        for cross in self.crosses:
            for (i, j), place in np.ndenumerate(cross.where):
                found[place] = found[cross.first.where[i]] + found[cross.second.where[j]]
        return found

    def add(self, feature: Feature) -> Block:
        """Columns for a feature; its name must be new."""
        block = self.know(feature)
        places = [self._named(block, label) for label in feature.labels]
        block.where = np.array(places, dtype=np.intp)
        return block

    def know(self, feature: Feature) -> Block:
        """A feature without columns: what it has declared contributes nothing."""
        block = self.blocks[feature.name] = Block(feature)
        self.by_role[feature.role].append(block)
        return block

    def meet(self, feature: Feature, *, crossed: bool) -> Block:
        """Columns for a feature, and if ``crossed`` for its products with all of the other role."""
        others = self._others(feature) if crossed else []
        block = self.add(feature)
        for other in others:
            self.cross(*(block, other) if feature.role == "context" else (other, block))
        return block

    def has_room(self, feature: Feature, *, crossed: bool) -> bool:
        """Whether what `meet` would add stays within ``most`` columns.

        Examples
        --------
        >>> from fabcost.features.kinds import Boolean
        >>> layout = Layout(bias=True)
        >>> block, layout.most = layout.add(Boolean("mobile", "context")), 3
        >>> layout.has_room(Boolean("new"), crossed=False)
        True
        >>> layout.has_room(Boolean("new"), crossed=True)
        False
        """
        cost = self.size_of(feature, crossed=crossed).columns
        # A schema that grew before it was limited may be over it; what costs nothing still fits.
        room = self.most is None or cost == 0 or len(self.columns) + cost <= self.most
        if not room:
            self.squeezed[feature.name] = "left out"
        return room

    def size_of(self, feature: Feature, *, crossed: bool) -> Size:
        """What `meet` would add."""
        return _with_crosses(_declared_size(feature), self._others(feature) if crossed else [])

    def require(self, more: Size, most: int | None) -> None:
        """An error, before anything is made, if there would be too many columns or characters.

        None is any number of both.

        Examples
        --------
        >>> Layout(bias=True).require(Size(16_000_000, 0), 1000)
        Traceback (most recent call last):
        ValueError: the schema needs 16,000,001 columns but may have 1,000
        """
        if most is None:
            return
        columns, characters = Size(len(self.columns), self.characters).plus(more)
        if columns > most:
            raise ValueError(f"the schema needs {columns:,} columns but may have {most:,}")
        if characters > MOST_CHARACTERS:
            raise ValueError(
                f"the names of the schema's columns need {characters:,} characters but may have "
                f"{MOST_CHARACTERS:,}"
            )

    def check_new(self, feature: Feature) -> None:
        """An error if there is a feature of that name."""
        if feature.name in self.blocks:
            raise ValueError(f"feature {feature.name!r} is given twice but names must be distinct")

    def regrow(self, name: str, label: str, most: int | None) -> None:
        """A label of a text feature that an equal layout has met, within ``most`` columns."""
        block = self.blocks.get(name)
        if block is None or not isinstance(block.feature, Text) or label in block.slots:
            raise ValueError(f"the label {label!r} must be new to a text feature, not to {name!r}")
        self.require(_with_crosses(Size(1, len(label)), block.partners), most)
        self.append(block, label)

    def cross(self, first: Block, second: Block) -> Cross:
        """Columns for the products of two features."""
        cross = Cross(first, second)
        cross.where = np.array(
            [[self._column(f"{a} × {b}") for b in second.slots] for a in first.slots], dtype=np.intp
        ).reshape(len(first.slots), len(second.slots))
        self.crosses.append(cross)
        for block, partner in ((first, second), (second, first)):
            block.crosses.append(cross)
            block.partners.append(partner)
        return cross

    def slot(self, block: Block, label: str) -> int:
        """Where a label is within its block; an open block grows for a new one; "" is −1."""
        slot = block.slots.get(label)
        if slot is not None:
            return slot
        feature = block.feature
        if not label or not isinstance(feature, Text):
            return -1
        if block.named >= feature.limit or self._is_greedy(block, feature):
            label = feature.shared(label)
            self.squeezed.setdefault(feature.name, "shared")
        if label not in block.slots:
            if self.most is not None and len(self.columns) + self._cost(block) > self.most:
                self.squeezed[feature.name] = "left out"
                return -1
            self.grown.append([feature.name, label])
            self.append(block, label)
        return block.slots[label]

    def append(self, block: Block, label: str) -> None:
        """A slot for ``label``, with its column and those of its crosses."""
        block.where = np.append(block.where, self._named(block, label))
        for cross in block.crosses:
            if block is cross.first:
                row = [self._column(f"{label} × {b}") for b in cross.second.slots]
                cross.where = np.vstack([cross.where, np.array(row, dtype=np.intp)])
            else:
                column = [self._column(f"{a} × {label}") for a in cross.first.slots]
                cross.where = np.hstack([cross.where, np.array(column, dtype=np.intp)[:, None]])

    def _named(self, block: Block, label: str) -> int:
        """The column of a new slot."""
        block.slots[label] = len(block.slots)
        block.characters += len(label)
        block.named += label.startswith(f"{block.feature.name}=")
        return self._column(label)

    def _cost(self, block: Block) -> int:
        """How many columns a new label of ``block`` takes."""
        cost = 1
        for other in block.partners:
            cost += len(other.slots)
        return cost

    def _is_greedy(self, block: Block, feature: Text) -> bool:
        """Whether one more label would take more than a fair share, shared ones included."""
        if not self.fair or self.most is None:
            return False
        room = FAIR_SHARE * self.most / self._cost(block)
        return block.named + 1 > max(room - feature.buckets, 0.5 * room)

    def _others(self, feature: Feature) -> list[Block]:
        """What a new feature may be crossed with: features with columns, or that can have some."""
        blocks = self.by_role["item" if feature.role == "context" else "context"]
        return [each for each in blocks if each.slots or isinstance(each.feature, Text)]

    def _column(self, name: str) -> int:
        self.columns.append(name)
        self.characters += len(name)
        return len(self.columns) - 1


def _with_crosses(size: Size, partners: Iterable[Block]) -> Size:
    total = size
    for other in partners:
        total = total.plus(size.crossed(other.size))
    return total


def _declared_size(feature: Feature) -> Size:
    """That of its labels; those of levels are not made for it: a long name is in all of them."""
    if not isinstance(feature, Categorical):
        return Size(len(feature.labels), sum(map(len, feature.labels)))
    name, levels = len(feature.name), len(feature.levels)
    size = Size(levels, levels * (name + 1) + sum(map(len, feature.levels)))
    if feature.other:
        size = size.plus(Size(1, name + len(" other")))
    return size.plus(Size(1, name + len(" missing"))) if feature.missing == "weight" else size
