"""What operators read: counters and gauges of Prometheus, and logs.

Logs are one JSON object a line, or lines for people.  What is counted for every request is so by
collectors of our own, which cost less than objects with a lock each.
"""

from __future__ import annotations

import logging
import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, BinaryIO, Literal, TextIO

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from structlog.typing import FilteringBoundLogger

from fabcost.wire.statistics import LiftView

CONTENT_TYPE = CONTENT_TYPE_LATEST
_LATENCIES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_DURABLE = {True: "true", False: "false", None: "off"}
_REFRESHES = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0)
_ENCODER = msgspec.json.Encoder(enc_hook=repr)
Format = Literal["json", "console"]


class RequestTimes(Collector):
    """Times of requests by the template of their route, method and class of status.

    ``bounds`` are those of the buckets from above, in seconds.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = list(bounds)
        self._counts: dict[tuple[str, str, int], list[int]] = {}
        self._sums: dict[tuple[str, str, int], float] = {}

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request by the class of its status, as ``2xx``."""
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
    """Decisions by model and arm, and the entropy of choices by model."""

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


class Metrics:
    """What a service counts; every method is cheap and may be called from any thread.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.decided("news", "bandit", durable=True, entropy=0.5)
    >>> metrics.fed_back("news", "late")
    >>> b'fabcost_feedback_total{model="news",status="late"} 1.0' in metrics.render()
    True
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._make_counters()
        self._make_gauges()
        self._make_distributions()
        requests, self._decisions = RequestTimes(_LATENCIES), DecisionCounts()
        self.registry.register(requests)
        self.registry.register(self._decisions)
        self.requested = requests.add
        self.decided = self._decisions.add

    def _make_counters(self) -> None:
        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"fabcost_{name}", meaning, labels, registry=self.registry)

        self._feedback = counter(
            "feedback",
            "Feedback by what became of it: applied, duplicate, late, parked and so on.",
            "model",
            "status",
        )
        of_arms = ("model", "arm")
        self._impressions = counter("impressions", "Decisions whose outcome is known.", *of_arms)
        self._clicks = counter("clicks", "Impressions that were clicked.", *of_arms)
        self._expiries = counter(
            "expiries", "Impressions by the default reward: no feedback in time.", *of_arms
        )
        self._limited = counter(
            "rate_limited", "Requests refused because a publishable key used up its rate.", "key"
        )
        self._rows = counter("rows_committed", "Rows written to the database.")
        self.lose = counter(
            "decisions_lost", "Decisions answered from memory that no room was left to write."
        ).inc

    def _make_gauges(self) -> None:
        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"fabcost_{name}", meaning, labels, registry=self.registry)

        self._version = gauge("posterior_version", "Impressions in the posterior.", "model")
        self._published = gauge(
            "posterior_published_seconds", "When it was published, seconds since 1970.", "model"
        )
        self._lag = gauge("learner_lag", "Impressions resolved but not in the posterior.", "model")
        self.store_away = gauge("store_away", "1 while the database cannot be written.").set
        self.backlog = gauge("backlog", "Decisions in memory that wait for the database.").set
        self.clock_ahead = gauge(
            "clock_ahead_seconds", "How far the times that are written are ahead of the system's."
        ).set
        self.in_flight = gauge("requests_in_flight", "Requests that are being answered.").set
        self.leads = gauge("leads", "1 for the server that expires, deletes and saves.").set
        self.stale = gauge(
            "stale_seconds", "Since when others may have written what is not known."
        ).set
        self._degraded = gauge("model_degraded", "1 for a model not served in full.", "model")
        self._alarms = gauge("alarms", "What is wrong with a model's data.", "model", "kind")
        self._income = gauge("income", "Rewards times values, less costs.", "model", "arm")
        self._lift = gauge(
            "lift",
            "Click rate over the holdback's, less one: value, low and high end; and the p-value of "
            "the holdback's share of impressions.",
            "model",
            "what",
        )

    def _make_distributions(self) -> None:
        self._refreshes = Histogram(
            "fabcost_refresh_seconds",
            "Time of an EP refresh.",
            ["model"],
            registry=self.registry,
            buckets=_REFRESHES,
        )
        self._commits = Histogram(
            "fabcost_commit_seconds",
            "Time of a transaction.",
            registry=self.registry,
            buckets=_LATENCIES,
        )

    def fed_back(self, model: str, status: str) -> None:
        """Count feedback."""
        self._feedback.labels(model, status).inc()

    def resolved(self, model: str, arm: str, *, clicked: bool, expired: bool) -> None:
        """Count an impression: what became of a decision is known."""
        self._impressions.labels(model, arm).inc()
        self._clicks.labels(model, arm).inc(clicked)
        self._expiries.labels(model, arm).inc(expired)

    def rate_limited(self, key_id: str) -> None:
        """Count a request beyond the rate of a key."""
        self._limited.labels(key_id).inc()

    def applied(self, model: str, lsn: int) -> None:
        """Say that a posterior with impressions up to ``lsn`` serves."""
        self._version.labels(model).set(lsn)
        self._published.labels(model).set(time.time())

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

    def degraded(self, models: Iterable[str]) -> None:
        """Say which models are not served in full."""
        self._degraded.clear()
        for model in models:
            self._degraded.labels(model).set(1)

    def alarmed(self, model: str, kinds: Iterable[str]) -> None:
        """Say what is wrong with the data of a model: each kind as often as it is met."""
        self._alarms.remove_by_labels({"model": model})
        for kind in kinds:
            self._alarms.labels(model, kind).inc()

    def gained(self, model: str, lift: LiftView | None, income: Mapping[str, float]) -> None:
        """Say what the bandit of a model gains, as far as it is known, and each arm's income."""
        known = {}
        if lift is not None:
            known = {"value": lift.value, "low": lift.low, "high": lift.high, "p": lift.share_p}
        for gauge in (self._lift, self._income):
            gauge.remove_by_labels({"model": model})
        for arm, earned in income.items():
            self._income.labels(model, arm).set(earned)
        for what, value in known.items():
            if value is not None:
                self._lift.labels(model, what).set(value)

    def forget(self, model: str) -> None:
        """Drop what is counted for a model that was deleted."""
        self.alarmed(model, ())
        self.gained(model, None, {})
        self._decisions.forget(model)
        counted = (self._feedback, self._impressions, self._clicks, self._expiries)
        for metric in (*counted, self._version, self._published, self._lag, self._refreshes):
            metric.remove_by_labels({"model": model})

    def render(self) -> bytes:
        """All of it, in the text format of Prometheus."""
        return generate_latest(self.registry)


def logger(level: str, form: Format, stream: TextIO = sys.stderr) -> FilteringBoundLogger:
    """A logger of its own; nothing of it is global.

    Examples
    --------
    >>> import io
    >>> stream = io.TextIOWrapper(io.BytesIO())
    >>> logger("info", "json", stream).info("listening", port=8000)
    >>> msgspec.json.decode(stream.buffer.getvalue())["port"]
    8000
    """
    wrapper = structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()])
    if form == "console":
        plain: Any = structlog.PrintLogger(_Lossy(stream))  # type: ignore[arg-type]
        renderer = structlog.dev.ConsoleRenderer(colors=stream.isatty())
        processors: list[Any] = [structlog.processors.add_log_level, _stamp, renderer]
    else:
        plain = structlog.BytesLogger(_Lossy(stream.buffer))  # type: ignore[arg-type]
        processors = [_render]
    made = structlog.wrap_logger(plain, processors=processors, wrapper_class=wrapper)
    return made.bind()  # type: ignore[no-any-return]


class _Lossy:
    """A stream that loses what cannot be written: a full disk must not stop the server."""

    def __init__(self, stream: TextIO | BinaryIO) -> None:
        self._stream: Any = stream

    def write(self, content: str | bytes) -> None:
        with suppress(OSError):
            self._stream.write(content)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _stamp(_logger: object, _level: str, event: Any) -> Any:
    event["timestamp"] = datetime.now(UTC).strftime("%H:%M:%S")
    return event


def _render(logger: object, level: str, event: Any) -> bytes:
    """All in one step: a line of JSON costs a few microseconds of each request."""
    line: MutableMapping[str, Any] = {"time": datetime.now(UTC), "level": level, **event}
    if "exc_info" in line:
        line = structlog.processors.format_exc_info(logger, level, line)
    return _ENCODER.encode(line)
