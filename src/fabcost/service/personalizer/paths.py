"""The addresses of the contract: a prefix that names the model, and three families of paths."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

#: The model of an endpoint without a prefix.
DEFAULT_MODEL: Final = "default"
REWARD: Final = "events/{event}/reward"
ACTIVATE: Final = "events/{event}/activate"

Role = Literal["decide", "feedback", "read", "admin"]

# A prefix is a model's name or ends in models/NAME.  What begins with v1/ is the native API's,
# whose ids may hold anything; an event's id may too, so the first "personalizer" counts.
_NAMED = r"v1/models/[^/]+|(?!v1/)(?:(?!personalizer/)[^/]+/)*?models/[^/]+|(?!v1/)[^/]+"
_VERSION = r"/v1\.0|/v1\.1-preview\.[123]"
_EVENT = r"events/(?P<event>.*)/(?P<what>reward|activate)"
_PATH = re.compile(
    rf"//*(?:(?P<named>{_NAMED})/+)?personalizer(?:{_VERSION})?/(?P<operation>{_EVENT}|.*)",
    re.DOTALL,
)


class ContractPath(NamedTuple):
    """What a path is about: a model, an operation, and maybe an event.

    ``operation`` is `REWARD` or `ACTIVATE` if there is an event, else the rest of the path, which
    need not be an operation of the contract.
    """

    model: str
    operation: str
    event: str | None = None

    def role(self, method: str) -> Role:
        """What a key must be allowed to do for such a request.

        Examples
        --------
        >>> parse("/personalizer/events/e/reward").role("POST")
        'feedback'
        >>> parse("/personalizer/model").role("GET"), parse("/personalizer/model").role("PUT")
        ('read', 'admin')
        """
        operation = self.operation.removeprefix("multislot/")
        if operation == "rank":
            return "decide"
        if operation.startswith("events/"):
            return "feedback"
        return "read" if method == "GET" else "admin"


def parse(path: str) -> ContractPath | None:
    """A path, percent-decoded; None if it does not belong to the contract.

    Examples
    --------
    >>> parse("/tenants/acme/models/news/personalizer/v1.0/rank")
    ContractPath(model='news', operation='rank', event=None)
    >>> parse("/news/personalizer/events/models/other/personalizer/rank/reward")
    ContractPath(model='news', operation='events/{event}/reward', event='models/other/per...
    >>> parse("/v1/models/news/items/a/personalizer/b")
    """
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    model = (found["named"] or DEFAULT_MODEL).rsplit("/", 1)[-1]
    if found["what"] is None:
        return ContractPath(model, found["operation"])
    operation = REWARD if found["what"] == "reward" else ACTIVATE
    return ContractPath(model, operation, found["event"])
