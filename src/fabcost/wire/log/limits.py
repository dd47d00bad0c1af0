"""How large a log and its lines may be."""

from __future__ import annotations

from typing import NamedTuple

from fabcost.wire.messages import LoggedImpression, Record


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

    Examples
    --------
    >>> limits = Limits(1, 10, 100, line_bytes=1000, lines=10, decoded_bytes=10_000)
    >>> limits.check(LoggedImpression(candidates={"a": {}}, item="a"))
    >>> limits.check(LoggedImpression(candidates={"a": {}, "b": {}}, item="a"))
    Traceback (most recent call last):
    ValueError: there are 2 candidates but there may be 1
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

    def check_line(self, size: int) -> None:
        """A ValueError if a line is longer."""
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
