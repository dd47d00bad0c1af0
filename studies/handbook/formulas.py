"""Formulas of a page, from TeX to MathML, which browsers draw without a script."""

from __future__ import annotations

import re
from html import unescape

from latex2mathml.converter import convert

# Of pymdownx.arithmatex; and of docstrings, which are written for reStructuredText.
_OF_PAGES = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
_OF_DOCSTRINGS = re.compile(r":math:<code>(.*?)</code>", re.DOTALL)


def rendered(html: str) -> str:
    r"""A page with its formulas as MathML.

    Examples
    --------
    >>> rendered('<span class="arithmatex">\\(x^2\\)</span>').count("<msup>")
    1
    """
    html = _OF_PAGES.sub(lambda found: _formula(found[3], block=found[2] == "["), html)
    return _OF_DOCSTRINGS.sub(lambda found: _formula(found[1], block=False), html)


def _formula(tex: str, *, block: bool) -> str:
    made: str = convert(unescape(tex), display="block" if block else "inline")
    return f'<div class="formula">{made}</div>' if block else made
