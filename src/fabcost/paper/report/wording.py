"""Times and numbers as people read them."""

from __future__ import annotations

import re

_MINUS = re.compile(r"(?<![\w.,-])-(?=\d)")
_UNITS = re.compile(r"(?<=\d) (?=(?:min|h|s|GB|sds)\b)|(?<=[\d)]) ?(?=%)")


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> [duration(each) for each in (0.004, 0.31, 9.96, 59.7, 200, 7199)]
    ['under 0.1 s', '0.3 s', '10 s', '1 min', '3 min 20 s', '2 h']
    """
    if seconds < 0.1:
        return "under 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 3569.5:
        units, numbers = ("min", "s"), divmod(round(seconds), 60)
    else:
        units, numbers = ("h", "min"), divmod(round(seconds / 60), 60)
    return " ".join(f"{n} {unit}" for n, unit in zip(numbers, units, strict=True) if n)


def typeset(text: str) -> str:
    r"""Minus signs before numbers, and no line break between a number and its unit.

    Examples
    --------
    >>> typeset("-5.2% (-27.3 to +16.8), 2020-01-31")
    '−5.2\xa0% (−27.3 to +16.8), 2020-01-31'
    """
    return _UNITS.sub("\N{NO-BREAK SPACE}", _MINUS.sub("\N{MINUS SIGN}", text))
