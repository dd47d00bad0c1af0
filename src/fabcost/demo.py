"""`fabcost demo`: a server, a catalogue of car adverts, and visitors who come by HTTP.

`run` is the command; it starts the process of `server` and sends it visitors.  What these need
takes as long to import as the server takes to start, and is imported meanwhile.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.status import Status
from rich.table import Table

if TYPE_CHECKING:
    from fabcost.client import Client
    from fabcost.wire.settings import ModelSettings
    from fabcost.worlds.visitors import CarAdverts

if sys.platform != "win32":
    import fcntl

MODEL = "cars"
ADVERTS = 300
CANDIDATES = 20
_A_SECOND = 50
_RECENT = 500
_WAIT_SECONDS = 2.0
_SECONDS_TO_STOP = 20.0
_ANNOUNCED, _SAID = "listening on ", "fabcost: "
_DATABASE, _LOCK = "demo.db", "demo.lock"


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
    import numpy as np

    from fabcost.worlds.adverts import synthetic
    from fabcost.worlds.visitors import CarAdverts

    rng = np.random.default_rng(seed)
    return CarAdverts.random(synthetic(ADVERTS, rng=rng), candidates=CANDIDATES, rng=rng)


def settings(cars: CarAdverts, *, wait: float, seed: int) -> ModelSettings:
    """Of a model of these adverts; who has not clicked after ``wait`` seconds will not."""
    from fabcost.wire.settings import ModelSettings

    schema = cars.schema.to_dict()
    return ModelSettings(schema=schema, reward_wait_seconds=wait, holdback=0.1, seed=seed)


def run(
    out: Path, *, port: int, seed: int, exit_after: float | None, browser: bool, console: Console
) -> Score:
    """Serve, send visitors, show the score; until ``exit_after`` seconds, Ctrl-C or SIGTERM."""
    with _terminated_as_by_ctrl_c(), claimed(out) as held:
        database, log = new_database(out), out / "server.log"
        log.unlink(missing_ok=True)
        serving = server(
            database, port=port, log=log, held=held, started=partial(note_process, out)
        )
        with ExitStack() as until_the_end, ThreadPoolExecutor(1) as aside:
            making = aside.submit(world, seed)
            with _waiting(log, console):
                address = until_the_end.enter_context(serving)
            from fabcost.client import Client

            cars, client = making.result(), until_the_end.enter_context(Client(address))
            console.print(f"Dashboard: [bold]{address}/[/bold]\n")
            if browser:
                webbrowser.open(f"{address}/")
            return _show(client, cars, seed, exit_after, console)


@contextmanager
def _waiting(log: Path, console: Console) -> Iterator[None]:
    """Say that a server starts and, as long as it compiles its kernels, how far it is."""
    console.print("Starting a server on an embedded SQLite file…")
    started, over = time.monotonic(), threading.Event()

    def tell(status: Status) -> None:
        told = ""
        while not over.wait(1.0):
            line = _last_line(log)
            if line.startswith(_SAID) and line != told:
                told = line
                if not console.is_terminal:
                    console.print(told, highlight=False)
            status.update(f"{time.monotonic() - started:.0f} s  {told.removeprefix(_SAID)}")

    with console.status("") as status:
        teller = threading.Thread(target=tell, args=(status,), daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()


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


def _show(
    client: Client, cars: CarAdverts, seed: int, exit_after: float | None, console: Console
) -> Score:
    from fabcost.worlds.adverts import for_people

    score = Score()
    client.create_model(MODEL, settings(cars, wait=_WAIT_SECONDS, seed=seed))
    client.put_items(MODEL, {name: for_people(item) for name, item in cars.items.items()})
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
    import numpy as np

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
        score.add(clicked=clicked, at_random=fmean(visitor.probability.values()))
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


@contextmanager
def server(
    database: Path,
    *,
    port: int,
    log: Path,
    held: Collection[int],
    started: Callable[[int], object] = int,
) -> Iterator[str]:
    """The address of a running `fabcost serve`; it is told to stop at the end.

    Its log goes to a file, and Ctrl-C to whoever started it.  It keeps the files ``held`` open:
    a server whose starter was killed goes on.  ``started`` is told the id of its process.
    """
    options = ["--port", str(port), "--database", str(database), "--log-level", "warning"]
    with log.open("a", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "fabcost", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            pass_fds=held,
        )
        try:
            started(process.pid)
            yield _address(process, log)
        finally:
            _stop(process)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    for line in process.stdout or ():
        if line.startswith(_ANNOUNCED):
            return line.removeprefix(_ANNOUNCED).strip()
    raise OSError(f"the server did not start: {_last_line(log) or 'it said nothing'}")


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8").strip().splitlines() if log.exists() else ()
    return lines[-1] if lines else ""


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def claimed(out: Path) -> Iterator[tuple[int, ...]]:
    """Keep the folder from other demonstrations; those who inherit what this yields keep it too."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / _LOCK).open("a", encoding="utf-8") as file:
        held = _locked(file, out)
        file.truncate(0)
        note_process(out, os.getpid())
        yield held


def note_process(out: Path, process: int) -> None:
    """Let whoever is refused know that this process keeps the folder, while it lives."""
    with (out / _LOCK).open("a", encoding="utf-8") as file:
        file.write(f"{process}\n")


def new_database(out: Path) -> Path:
    """The file for a database, without what an earlier demonstration left."""
    for suffix in ("", "-wal", "-shm"):
        (out / f"{_DATABASE}{suffix}").unlink(missing_ok=True)
    return out / _DATABASE


def _locked(file: IO[str], out: Path) -> tuple[int, ...]:
    if sys.platform == "win32":  # a file in use cannot be deleted there
        return ()
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(
            f"a demo is running in {out} already: {_how_to_end(out)}, "
            "or choose another folder with --out"
        ) from error
    return (file.fileno(),)


def _how_to_end(out: Path) -> str:
    """By the first process that is noted and lives: the demo, or the server that it left."""
    noted = map(int, (out / _LOCK).read_text(encoding="utf-8").split())
    process = next(filter(_lives, noted), None)
    return "stop it" if process is None else f"end it with `kill {process}`"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # somebody else's
    return True
