"""The client of the service: blocking and asynchronous, with retries that are safe.

`calls` has what can be asked, `exchange` what is done for one call, whatever goes wrong, and
`link` what both `clients` do it with: `Client` blocks, `AsyncClient` is awaited.
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
    "NEVER": "fabcost.client.exchange",
    "AsyncClient": "fabcost.client.clients",
    "Client": "fabcost.client.clients",
    "ClientError": "fabcost.client.exchange",
    "FeedbackRequest": "fabcost.wire.messages",
    "ModelSettings": "fabcost.wire.settings",
    "PriorSettings": "fabcost.wire.settings",
    "Retries": "fabcost.client.exchange",
}


def __getattr__(name: str) -> Any:
    # The command line imports this package without the extra that clients need.
    if name in _HOMES:
        with told_what_is_missing("fabcost.client", "service"):
            return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
