"""What is counted for every request, more cheaply than by objects with locks of their own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

_DURABLE = {True: "true", False: "false", None: "off"}


class RequestTimes(Collector):
    """Times of requests by the template of their route, method and class of status.

    Parameters
    ----------
    bounds
        Upper bounds of the buckets, in seconds.

    Examples
    --------
    >>> times = RequestTimes([0.1, 1.0])
    >>> times.add("/healthz", "GET", 200, 0.5)
    >>> [(each.name, each.value) for each in next(times.collect()).samples][1]
    ('fabcost_request_seconds_bucket', 1)
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = list(bounds)
        self._counts: dict[tuple[str, str, int], list[int]] = {}
        self._sums: dict[tuple[str, str, int], float] = {}

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (route, method, status // 100)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = [0] * (len(self._bounds) + 1)
            self._sums[key] = 0.0
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[key] += seconds

    def collect(self) -> Iterator[Metric]:
        """What Prometheus is told."""
        family = HistogramMetricFamily(
            "fabcost_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            labels=["route", "method", "status"],
        )
        names = [*(str(bound) for bound in self._bounds), "+Inf"]
        for (route, method, kind), counts in list(self._counts.items()):
            buckets = list(zip(names, accumulate(counts), strict=True))
            total = self._sums[route, method, kind]
            family.add_metric([route, method, f"{kind}xx"], buckets, total)
        yield family


class DecisionCounts(Collector):
    """Decisions by model and arm, and the entropy of choices by model.

    Examples
    --------
    >>> counts = DecisionCounts()
    >>> counts.add("news", "bandit", True, 0.5)
    >>> [[(each.name, each.value) for each in one.samples] for one in counts.collect()][0]
    [('fabcost_decisions_total', 1)]
    """

    def __init__(self) -> None:
        self._decisions: dict[tuple[str, str, bool | None], int] = {}
        self._entropies: dict[str, tuple[int, float]] = {}

    def add(self, model: str, arm: str, durable: bool | None, entropy: float | None) -> None:
        """Count a decision; ``entropy`` is that of its propensities, if it has any.

        ``durable`` is None if it will never be recorded, because the model is off.
        """
        key = (model, arm, durable)
        self._decisions[key] = self._decisions.get(key, 0) + 1
        if entropy is not None:
            count, total = self._entropies.get(model, (0, 0.0))
            self._entropies[model] = (count + 1, total + entropy)

    def forget(self, model: str) -> None:
        """Drop what is counted for a model."""
        self._entropies.pop(model, None)
        for key in [key for key in self._decisions if key[0] == model]:
            del self._decisions[key]

    def collect(self) -> Iterator[Metric]:
        """What Prometheus is told."""
        decisions = CounterMetricFamily(
            "fabcost_decisions",
            "Decisions by arm; durable is false for those answered from memory, "
            "and off for those of a model in mode off, which are not recorded.",
            labels=["model", "arm", "durable"],
        )
        for (model, arm, durable), count in list(self._decisions.items()):
            decisions.add_metric([model, arm, _DURABLE[durable]], count)
        entropies = SummaryMetricFamily(
            "fabcost_selection_entropy", "Entropy of the choice in nats.", labels=["model"]
        )
        for model, (count, total) in list(self._entropies.items()):
            entropies.add_metric([model], count, total)
        yield decisions
        yield entropies
