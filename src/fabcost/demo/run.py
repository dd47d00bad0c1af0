"""The demonstration itself: what is started, the visitors who come, and what is shown of them."""

from __future__ import annotations

import signal
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from fabcost.client import Client
from fabcost.demo.server import claimed, new_database, note_process, server
from fabcost.wire.settings import ModelSettings
from fabcost.worlds.synthetic import synthetic
from fabcost.worlds.visitors import CarAdverts

MODEL = "cars"
ADVERTS = 300
CANDIDATES = 20
_A_SECOND = 50
_RECENT = 500
_WAIT_SECONDS = 2.0


@dataclass
class Score:
    """Clicks so far, and how many random adverts would have had on average."""

    visitors: int = 0
    clicks: int = 0
    at_random: float = 0.0
    outcomes: list[bool] = field(default_factory=list)

    def add(self, *, clicked: bool, at_random: float) -> None:
        """One more visitor."""
        self.visitors += 1
        self.clicks += clicked
        self.at_random += at_random
        self.outcomes.append(clicked)

    @property
    def lift(self) -> float:
        """How much more than at random, as a share."""
        return self.clicks / self.at_random - 1.0 if self.at_random else 0.0

    def recent(self, many: int) -> float:
        """The click rate of the last visitors."""
        latest = self.outcomes[-many:]
        return sum(latest) / len(latest) if latest else 0.0


def world(seed: int) -> CarAdverts:
    """Adverts and the tastes of those who will look at them."""
    rng = np.random.default_rng(seed)
    return CarAdverts.random(synthetic(ADVERTS, rng=rng), candidates=CANDIDATES, rng=rng)


def settings(cars: CarAdverts, *, wait: float, seed: int) -> ModelSettings:
    """Of a model of these adverts; who has not clicked after ``wait`` seconds will not."""
    schema = cars.schema.to_dict()
    return ModelSettings(schema=schema, reward_wait_seconds=wait, holdback=0.1, seed=seed)


def run(
    out: Path, *, port: int, seed: int, exit_after: float | None, browser: bool, console: Console
) -> Score:
    """Serve, send visitors, show the score; until ``exit_after`` seconds, Ctrl-C or SIGTERM."""
    with _terminated_as_by_ctrl_c(), claimed(out) as held:
        console.print("Starting a server on an embedded SQLite file…")
        database, log = new_database(out), out / "server.log"
        serving = server(
            database, port=port, log=log, held=held, started=partial(note_process, out)
        )
        with serving as address, Client(address) as client:
            console.print(f"Dashboard: [bold]{address}/[/bold]\n")
            if browser:
                webbrowser.open(f"{address}/")
            return _show(client, seed, exit_after, console)


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """Let the first SIGTERM interrupt, so that the server is ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(client: Client, seed: int, exit_after: float | None, console: Console) -> Score:
    score, cars = Score(), world(seed)
    client.create_model(MODEL, settings(cars, wait=_WAIT_SECONDS, seed=seed))
    client.put_items(MODEL, cars.items)
    try:
        for latest in _told(_paced(visits(client, cars, seed), exit_after), console):
            score = latest
    except KeyboardInterrupt:
        console.print("Stopping.")
    weights = client.posterior(MODEL)
    console.print(f"The model has learnt from {weights.impressions:,} impressions: {_line(score)}.")
    return score


def visits(client: Client, cars: CarAdverts, seed: int) -> Iterator[Score]:
    """An endless stream of visitors, who see an advert and may click; the score after each."""
    rng, score = np.random.default_rng(seed), Score()
    run = int(rng.integers(1 << 32))
    for visitor in cars.visitors(rng):
        name = f"{run:08x}-{score.visitors}"
        decision = client.decide(
            MODEL, context=visitor.context, items=list(visitor.items), decision_id=name
        )
        clicked = visitor.clicked(decision.item)
        if clicked:
            client.feedback(MODEL, decision.decision_id)
        score.add(clicked=clicked, at_random=float(np.mean(list(visitor.probability.values()))))
        yield score


def _told(scores: Iterator[Score], console: Console) -> Iterator[Score]:
    """Shown as a table that changes, or line by line where there is no screen."""
    if not console.is_terminal:
        for score in scores:
            if score.visitors % (5 * _A_SECOND) == 0:
                console.print(_line(score))
            yield score
        return
    with Live(_table(Score()), console=console, refresh_per_second=4) as live:
        for score in scores:
            live.update(_table(score))
            yield score


def _line(score: Score) -> str:
    return (
        f"{score.visitors:,} visitors, {score.clicks} clicks, "
        f"{score.at_random:.1f} expected at random ({score.lift:+.0%})"
    )


def _paced(scores: Iterator[Score], seconds: float | None) -> Iterator[Score]:
    """At a human pace, and not for ever."""
    started = time.monotonic()
    for count, score in enumerate(scores, start=1):
        yield score
        now = time.monotonic() - started
        if seconds is not None and now >= seconds:
            return
        time.sleep(max(0.0, count / _A_SECOND - now))


def _table(score: Score) -> Table:
    table = Table(title="Visitors of a site that has just opened (Ctrl-C to stop)")
    for heading in ("visitors", "clicks so far", "at random", "lift", f"rate, last {_RECENT}"):
        table.add_column(heading, justify="right")
    table.add_row(
        f"{score.visitors:,}",
        f"{score.clicks:,}",
        f"{score.at_random:.1f}",
        f"{score.lift:+.0%}",
        f"{score.recent(_RECENT):.1%}",
    )
    return table
