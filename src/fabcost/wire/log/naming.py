"""Ids for lines of a log that have none."""

from __future__ import annotations

import hashlib

import msgspec

from fabcost.wire.messages import LoggedImpression

_DIGITS = 32
_NOTHING: tuple[object, ...] = (None, (), [], {})
_encoder = msgspec.json.Encoder()


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
