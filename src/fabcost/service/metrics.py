"""Counters and gauges that Prometheus reads, one registry for each service."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
_LATENCIES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_REFRESHES = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0)


class Metrics:
    """What a service counts; every method is cheap and may be called from any thread.

    Parameters
    ----------
    clock
        Seconds since 1970, for the time at which a posterior was published.

    Examples
    --------
    >>> metrics = Metrics(clock=lambda: 1e9)
    >>> metrics.decided("news", "bandit", durable=True, entropy=0.5)
    >>> metrics.fed_back("news", "late")
    >>> b'fabcost_feedback_total{model="news",status="late"} 1.0' in metrics.render()
    True
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.registry = CollectorRegistry()
        self._clock = clock
        self._make_counters()
        self._make_gauges()
        self._make_distributions()
        # Looking up a child by its labels costs more than counting.
        self._request_of: dict[tuple[str, str, int], Histogram] = {}
        self._decision_of: dict[tuple[str, str, bool], tuple[Counter, Summary]] = {}

    def _make_counters(self) -> None:
        self._decisions = Counter(
            "fabcost_decisions",
            "Decisions by arm; durable is false for those answered from memory.",
            ["model", "arm", "durable"],
            registry=self.registry,
        )
        self._feedback = Counter(
            "fabcost_feedback",
            "Feedback by what became of it: applied, duplicate, late, parked and so on.",
            ["model", "status"],
            registry=self.registry,
        )
        self._rows = Counter(
            "fabcost_rows_committed", "Rows written to the database.", registry=self.registry
        )

    def _make_gauges(self) -> None:
        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"fabcost_{name}", meaning, labels, registry=self.registry)

        self._version = gauge("posterior_version", "Impressions in the posterior.", "model")
        self._published = gauge(
            "posterior_published_seconds", "When it was published, seconds since 1970.", "model"
        )
        self._lag = gauge("learner_lag", "Impressions resolved but not in the posterior.", "model")
        self._away = gauge("store_away", "1 while the database cannot be written.")
        self._backlog = gauge("backlog", "Decisions in memory that wait for the database.")
        self._in_flight = gauge("requests_in_flight", "Requests that are being answered.")

    def _make_distributions(self) -> None:
        self._refreshes = Histogram(
            "fabcost_refresh_seconds",
            "Time of an EP refresh.",
            ["model"],
            registry=self.registry,
            buckets=_REFRESHES,
        )
        self._entropy = Summary(
            "fabcost_selection_entropy",
            "Entropy of the choice in nats.",
            ["model"],
            registry=self.registry,
        )
        self._commits = Histogram(
            "fabcost_commit_seconds",
            "Time of a transaction.",
            registry=self.registry,
            buckets=_LATENCIES,
        )
        self._requests = Histogram(
            "fabcost_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ["route", "method", "status"],
            registry=self.registry,
            buckets=_LATENCIES,
        )

    def decided(self, model: str, arm: str, durable: bool, entropy: float | None) -> None:
        """Count a decision; ``entropy`` is that of its propensities, if it has any."""
        key = (model, arm, durable)
        found = self._decision_of.get(key)
        if found is None:
            counter = self._decisions.labels(model, arm, "true" if durable else "false")
            found = self._decision_of[key] = (counter, self._entropy.labels(model))
        found[0].inc()
        if entropy is not None:
            found[1].observe(entropy)

    def fed_back(self, model: str, status: str) -> None:
        """Count feedback."""
        self._feedback.labels(model, status).inc()

    def applied(self, model: str, lsn: int) -> None:
        """Say that a posterior with impressions up to ``lsn`` serves."""
        self._version.labels(model).set(lsn)
        self._published.labels(model).set(self._clock())

    def lagged(self, model: str, impressions: int) -> None:
        """Say how many resolved impressions the posterior lacks."""
        self._lag.labels(model).set(impressions)

    def refreshed(self, model: str, seconds: float) -> None:
        """Count an EP refresh."""
        self._refreshes.labels(model).observe(seconds)

    def committed(self, rows: int, seconds: float) -> None:
        """Count a transaction."""
        self._rows.inc(rows)
        self._commits.observe(seconds)

    def store_away(self, away: bool) -> None:
        """Say whether the database is away."""
        self._away.set(1 if away else 0)

    def backlog(self, count: int) -> None:
        """Say how many decisions wait in memory for the database."""
        self._backlog.set(count)

    def requested(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request by the template of its route and the class of its status, as ``2xx``."""
        key = (route, method, status // 100)
        found = self._request_of.get(key)
        if found is None:
            found = self._requests.labels(route, method, f"{status // 100}xx")
            self._request_of[key] = found
        found.observe(seconds)

    def in_flight(self, requests: int) -> None:
        """Say how many requests are being answered."""
        self._in_flight.set(requests)

    def forget(self, model: str) -> None:
        """Drop what is counted for a model that was deleted."""
        for key in [key for key in self._decision_of if key[0] == model]:
            del self._decision_of[key]
        of_models = (self._decisions, self._feedback, self._version, self._published, self._lag)
        for metric in (*of_models, self._refreshes, self._entropy):
            metric.remove_by_labels({"model": model})

    def render(self) -> bytes:
        """All of it, in the text format of Prometheus."""
        return generate_latest(self.registry)
