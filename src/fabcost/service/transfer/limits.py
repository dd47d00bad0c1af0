"""How large a line of a log may be."""

from __future__ import annotations

from typing import NamedTuple

from fabcost.service.messages import LoggedImpression, Record
from fabcost.service.settings import Settings


class Limits(NamedTuple):
    """Those of a decision that is asked for.

    Examples
    --------
    >>> Limits.of(Settings(candidates=1)).check(LoggedImpression(candidates={"a": {}}, item="a"))
    >>> two = LoggedImpression(candidates={"a": {}, "b": {}}, item="a")
    >>> Limits.of(Settings(candidates=1)).check(two)
    Traceback (most recent call last):
    ValueError: there are 2 candidates but there may be 1
    >>> Limits.of(Settings(candidates=1), catalogue=2).check(two)
    """

    candidates: int
    features: int
    text_length: int

    @classmethod
    def of(cls, settings: Settings, *, catalogue: int = 0) -> Limits:
        """Those of a server, for a model of so many items, which may all compete at once."""
        candidates = max(settings.candidates, catalogue)
        return cls(candidates, settings.features, settings.text_length)

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
