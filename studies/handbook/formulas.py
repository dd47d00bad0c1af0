"""Formulas of a page, from TeX to MathML, which browsers draw without a script."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

from latex2mathml.converter import convert

# Of pymdownx.arithmatex; and of docstrings, which are written for reStructuredText.
_OF_PAGES = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
_OF_DOCSTRINGS = re.compile(r":math:<code>(.*?)</code>", re.DOTALL)
# Browsers know letters of other alphabets as characters only.
_VARIANT = re.compile(r'<mi mathvariant="(script|double-struck|bold)">([A-Z])</mi>')
_WORDS = {"script": "SCRIPT", "double-struck": "DOUBLE-STRUCK", "bold": "BOLD"}


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
    made = _VARIANT.sub(lambda found: f"<mi>{_letter(found[2], _WORDS[found[1]])}</mi>", made)
    return f'<div class="scrolled formula" tabindex="0">{made}</div>' if block else made


def _letter(letter: str, alphabet: str) -> str:
    """A capital of a mathematical alphabet; the oldest are in a block of their own."""
    try:
        return unicodedata.lookup(f"MATHEMATICAL {alphabet} CAPITAL {letter}")
    except KeyError:
        return unicodedata.lookup(f"{alphabet} CAPITAL {letter}")
