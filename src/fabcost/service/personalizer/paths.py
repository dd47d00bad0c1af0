"""The addresses of the contract: a prefix that names the model, and three families of paths."""

from __future__ import annotations

import re
from typing import Final, Literal

from starlette.convertors import Convertor, PathConvertor, register_url_convertor

#: The model of an endpoint without a prefix.
DEFAULT_MODEL: Final = "default"
#: Names of convertors in a route.
BASE: Final = "personalizer"
ANYTHING: Final = "anything"

Role = Literal["decide", "feedback", "read", "admin"]

# A prefix is a model's name or ends in models/NAME.  What begins with v1/ is the native API's,
# whose ids may hold anything; an event's id may too, so the first "personalizer" counts.
_NAMED = r"(?:v1/models/[^/]+|(?!v1/)(?:(?!personalizer/)[^/]+/)*?models/[^/]+|(?!v1/)[^/]+)"
_VERSION = r"(?:/v1\.0|/v1\.1-preview\.[123])?"
_BASE = rf"/*(?:{_NAMED}/+)?personalizer{_VERSION}"
_SPLIT = re.compile(rf"/*(?:(?P<named>{_NAMED})/+)?personalizer{_VERSION}")
_PATH = re.compile(rf"/(?P<base>{_BASE})/(?P<operation>.*)", re.DOTALL)


class BaseConvertor(Convertor[str]):
    """All of a path before the operation; converts it to the name of the model.

    Examples
    --------
    >>> BaseConvertor().convert("tenants/acme/models/news/personalizer/v1.0")
    'news'
    >>> BaseConvertor().convert("personalizer")
    'default'
    """

    regex = _BASE

    def convert(self, value: str) -> str:
        """The name of the model."""
        found = _SPLIT.fullmatch(value)
        named = found["named"] if found else None
        return named.rsplit("/", 1)[-1] if named else DEFAULT_MODEL

    def to_string(self, value: str) -> str:
        """The shortest base of a model."""
        return f"{value}/personalizer"


class AnythingConvertor(PathConvertor):
    """All characters; Starlette's own "path" stops at the end of a line.

    Examples
    --------
    >>> AnythingConvertor().convert("ev/1 x")
    'ev/1 x'
    """

    regex = "(?s:.*)"


register_url_convertor(BASE, BaseConvertor())
register_url_convertor(ANYTHING, AnythingConvertor())


def is_personalizer_path(path: str) -> bool:
    """Whether a path, percent-decoded, belongs to the contract.

    Examples
    --------
    >>> is_personalizer_path("/news/personalizer/v1.0/rank")
    True
    >>> is_personalizer_path("/v1/models/news/items/a/personalizer/b")
    False
    """
    return _PATH.fullmatch(path) is not None


def model_of(path: str) -> str:
    """The model that such a path is about.

    Examples
    --------
    >>> model_of("/news/personalizer/events/models/other/personalizer/rank/reward")
    'news'
    """
    return BaseConvertor().convert(_parts(path)["base"])


def role_of(method: str, path: str) -> Role:
    """What a key must be allowed to do for such a request.

    Examples
    --------
    >>> role_of("POST", "/personalizer/rank"), role_of("POST", "/personalizer/events/e/reward")
    ('decide', 'feedback')
    >>> role_of("GET", "/personalizer/status"), role_of("PUT", "/personalizer/model")
    ('read', 'admin')
    """
    operation = _parts(path)["operation"].removeprefix("multislot/")
    if operation == "rank":
        return "decide"
    if operation.startswith("events/"):
        return "feedback"
    return "read" if method == "GET" else "admin"


def _parts(path: str) -> re.Match[str]:
    found = _PATH.fullmatch(path)
    if found is None:
        raise ValueError(f"the path is {path!r} but must be one of the Personalizer contract")
    return found
