"""The client of the service: blocking and asynchronous, with retries that are safe.

`calls` has what can be asked, `exchange` what is done for one call, whatever goes wrong; of both
`clients`, which have these, `Client` blocks and `AsyncClient` is awaited.
"""

import importlib
from typing import TYPE_CHECKING, Any

from fabcost.extras import told_what_is_missing

if TYPE_CHECKING:
    from fabcost.client.clients import AsyncClient, Client
    from fabcost.client.exchange import NEVER, ClientError, Retries
    from fabcost.wire.messages import FeedbackRequest
    from fabcost.wire.settings import ModelSettings, PriorSettings

__all__ = [
    "NEVER",
    "AsyncClient",
    "Client",
    "ClientError",
    "FeedbackRequest",
    "ModelSettings",
    "PriorSettings",
    "Retries",
]
_HOMES = {
    "fabcost.client.clients": ("AsyncClient", "Client"),
    "fabcost.client.exchange": ("NEVER", "ClientError", "Retries"),
    "fabcost.wire.messages": ("FeedbackRequest",),
    "fabcost.wire.settings": ("ModelSettings", "PriorSettings"),
}


def __getattr__(name: str) -> Any:
    # The command line imports this package without the extra that clients need.
    for home, names in _HOMES.items():
        if name in names:
            with told_what_is_missing("fabcost.client", "service"):
                return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
