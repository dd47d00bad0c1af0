"""A decision as one line of a log: its name, its limits, what is wrong; and lines of JSON."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fabcost.wire.errors import in_words
from fabcost.wire.messages import Amount, ClickValue, Id, Record, Scalar

_DIGITS = 32
_NOTHING: tuple[object, ...] = (None, UNSET, (), [], {})
_encoder = msgspec.json.Encoder()
#: Times that have a date: the years 1 to 9999.
FIRST_YEAR, LAST_YEAR = -62_135_596_800.0, 253_402_300_799.0
#: The value of a decision may be the sum of many rewards.
LARGEST_TOTAL = 1e9


class LoggedImpression(Struct, frozen=True, kw_only=True):
    """A decision of the past, made here or elsewhere, and what became of it.

    Without a ``value`` it is kept, and learnt when that becomes known.  ``excluded`` are candidates
    that could not be chosen; ``missing`` those whose features are unknown, because they had left
    the catalogue: nothing is learnt of them.  ``click_value`` and ``cost`` are those of the item,
    if they are not 1 and 0.
    """

    decision_id: Id | None = None
    time: Annotated[float, Meta(ge=FIRST_YEAR, le=LAST_YEAR)] | None = None
    context: dict[Id, Scalar] = {}
    candidates: dict[Id, dict[Id, Scalar]]
    item: Id
    propensities: list[Annotated[float, Meta(ge=0.0, le=1.0 + 1e-6)]] | None = None
    value: Annotated[float, Meta(ge=-LARGEST_TOTAL, le=LARGEST_TOTAL)] | None = None
    excluded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    click_value: ClickValue | UnsetType = UNSET
    cost: Amount | UnsetType = UNSET


class LogLine(LoggedImpression, frozen=True, kw_only=True):
    """An impression and all else that is known of it; a log from elsewhere need not have that.

    Attributes
    ----------
    changed
        Whether the catalogue has changed since: features of candidates that were not chosen are
        those of the export.
    fraction
        How much of a click was learnt, where the model's values are fractions.
    """

    changed: bool = False
    arm: str | None = None
    deadline: float | None = None
    ranking: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    posterior_version: str | None = None
    mode: str | None = None
    would_choose: str | None = None
    deferred: bool = False
    active: bool = True
    resolved: float | None = None
    outcome: str | None = None
    label: int | None = None
    lsn: int | None = None
    fraction: float | UnsetType = UNSET


_decoder = msgspec.json.Decoder(LogLine)


class LineError(ValueError):
    """A line that cannot be read.

    Examples
    --------
    >>> print(LineError(3, "it is no JSON"))
    line 3: it is no JSON
    """

    def __init__(self, number: int, why: object) -> None:
        super().__init__(f"line {number}: {in_words(why, what='it')}")
        self.number = number
        self.why = why


def impression_of(line: LogLine) -> LoggedImpression:
    """What is learnt from a line: nothing if the features of its item are unknown.

    Examples
    --------
    >>> line = LogLine(candidates={"a": {}}, item="a", value=1.0, missing=("a",))
    >>> impression_of(line).value is None
    True
    >>> impression_of(LogLine(candidates={"a": {}}, item="b"))
    Traceback (most recent call last):
    ValueError: the item is 'b' but the candidates are 'a'
    """
    _check_item(line)
    said = {name: getattr(line, name) for name in LoggedImpression.__struct_fields__}
    known = line.value if line.item not in line.missing else None
    return LoggedImpression(**said | {"value": known})


def _check_item(line: LogLine) -> None:
    if line.item not in line.candidates:
        known = ", ".join(map(repr, list(line.candidates)[:5])) or "none"
        raise ValueError(f"the item is {line.item!r} but the candidates are {known}")
    if line.item in line.excluded:
        raise ValueError(f"the item is {line.item!r}, which is excluded")
    many, given = len(line.candidates), line.propensities
    if given is not None and len(given) != many:
        raise ValueError(f"there are {len(given)} propensities but {many} candidates")


class Names:
    """Names each line by what it says and by all lines before it.

    A file that is read again names its lines as before, also when it has grown, or is read in
    parts; lines that are equal have different names.

    Parameters
    ----------
    after
        The `state` after the lines before, if these are not the first of a file.

    Examples
    --------
    >>> line = LoggedImpression(candidates={"a": {"age": 3}}, item="a", value=1.0)
    >>> names = Names()
    >>> first = names.next(line)
    >>> first
    'log-8cb3899e47f22476268bcb045a81991c'
    >>> others = Names(names.state)
    >>> others.next(line) == names.next(line) != first
    True
    """

    def __init__(self, after: str = "") -> None:
        self.state = after

    def next(self, line: LoggedImpression) -> str:
        """The name of the line that comes next."""
        # What it does not say is left out: a line keeps its name when lines can say more.
        said = {name: v for name, v in msgspec.structs.asdict(line).items() if v not in _NOTHING}
        content = self.state.encode() + _encoder.encode(said)
        self.state = hashlib.sha256(content).hexdigest()[:_DIGITS]
        return f"log-{self.state}"


class Limits(NamedTuple):
    """Those of a decision that is asked for, and of all lines of a body together.

    Parameters
    ----------
    candidates, features, text_length
        Of a line.
    line_bytes
        Of a line as text: JSON is many times as large in memory.
    lines
        Of a body.
    decoded_bytes
        Of a body in Parquet when it is no longer compressed.
    """

    candidates: int
    features: int
    text_length: int
    line_bytes: int
    lines: int
    decoded_bytes: int

    def check_lines(self, many: int) -> None:
        """A ValueError if a body has more lines."""
        if many > self.lines:
            raise ValueError(f"the log has {many:,} lines but may have {self.lines:,} at once")

    def check_size(self, size: int) -> None:
        """A ValueError if a line has more bytes."""
        if size > self.line_bytes:
            raise ValueError(f"it has {size:,} bytes but may have {self.line_bytes:,}")

    def check_decoded(self, size: int) -> None:
        """A ValueError if a file says more than it may."""
        if size > self.decoded_bytes:
            raise ValueError(
                f"the log has {size:,} bytes or more when it is not compressed but may have "
                f"{self.decoded_bytes:,} at once"
            )

    def check(self, line: LoggedImpression) -> None:
        """A ValueError if the line is over a limit."""
        many = len(line.candidates)
        if many > self.candidates:
            raise ValueError(f"there are {many} candidates but there may be {self.candidates}")
        self._check_record("the context", line.context)
        for item, record in line.candidates.items():
            self._check_record(f"candidate {item!r}", record)

    def _check_record(self, what: str, record: Record) -> None:
        if len(record) > self.features:
            raise ValueError(f"{what} has {len(record)} features but may have {self.features}")
        for name, value in record.items():
            if isinstance(value, str) and len(value) > self.text_length:
                raise ValueError(
                    f"{name!r} of {what} has {len(value)} characters but may have "
                    f"{self.text_length}"
                )


#: Whoever reads a file of their own may fill their own memory.
UNLIMITED = Limits(*[sys.maxsize] * 6)


class JsonLines:
    """Writes pages of a log, each line as the object that ``told`` makes of it.

    Examples
    --------
    >>> JsonLines().page([LogLine(decision_id="d-1", candidates={"a": {}}, item="a")])[:41]
    b'{"decision_id":"d-1","time":null,"context'
    """

    def __init__(self, told: Callable[[LogLine], Any] = lambda line: line) -> None:
        self._told = told

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of some lines."""
        return _encoder.encode_lines([self._told(line) for line in lines])

    def end(self) -> bytes:
        """What comes after the last."""
        return b""


def read_lines(body: bytes, limits: Limits = UNLIMITED) -> Iterator[tuple[int, LogLine]]:
    r"""The lines with their numbers from 1; empty ones are passed over.

    Examples
    --------
    >>> ((number, line),) = read_lines(b'\n{"candidates": {"a": {}}, "item": "a"}')
    >>> number, line.item
    (2, 'a')
    >>> list(read_lines(b'{"item": "a"}'))
    Traceback (most recent call last):
    fabcost.wire.line.LineError: line 1: 'candidates' is missing
    """
    return lines_of(body, limits, _decoder.decode)


def lines_of(
    body: bytes, limits: Limits, decode: Callable[[bytes], LogLine | None]
) -> Iterator[tuple[int, LogLine]]:
    """The decisions, each from one line, with the numbers of their lines from 1."""
    limits.check_lines(body.count(b"\n") + (not body.endswith(b"\n")))
    for number, text in enumerate(io.BytesIO(body.removeprefix(b"\xef\xbb\xbf")), start=1):
        stripped = text.strip()
        try:
            limits.check_size(len(stripped))
            line = decode(stripped) if stripped else None
        except (ValueError, OverflowError, RecursionError) as error:
            raise LineError(number, in_words(error, stripped, what="it")) from error
        if line is not None:
            yield number, line
