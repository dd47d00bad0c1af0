"""Calls that look at a model, and at the server itself."""

from __future__ import annotations

from fabcost.client.call import Call, no_content, path, reader
from fabcost.wire.messages import PosteriorAnswer, StatsAnswer

_posterior = reader(PosteriorAnswer)
_stats = reader(StatsAnswer)


def get_posterior(model: str) -> Call[PosteriorAnswer]:
    """The weights with their means and sds.

    Examples
    --------
    >>> get_posterior("news").path
    '/v1/models/news/posterior'
    """
    return Call("GET", path("v1", "models", model, "posterior"), _posterior)


def get_stats(model: str, minutes: int) -> Call[StatsAnswer]:
    """What a dashboard shows.

    Examples
    --------
    >>> get_stats("news", 60).query
    {'minutes': 60}
    """
    return Call("GET", path("v1", "models", model, "stats"), _stats, query={"minutes": minutes})


def get_ready() -> Call[None]:
    """Whether the server can decide and learn.

    Examples
    --------
    >>> get_ready().path
    '/readyz'
    """
    return Call("GET", path("readyz"), no_content)
