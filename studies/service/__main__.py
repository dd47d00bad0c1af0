"""Load on one server beside a bare echo of the same bodies: ``python -m studies.service``."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from rich.console import Console

from fabcost.client import Client
from fabcost.wire.line import LoggedImpression
from fabcost.wire.settings import ModelSettings, RefreshSettings
from fabcost.worlds.adverts import synthetic
from fabcost.worlds.visitors import CarAdverts, Visitor
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page

SEED = 20_261_116
ITEMS = 50
CONNECTIONS = 64
MORE_CONNECTIONS = 4 * CONNECTIONS
BODIES = 200
REFRESHED = 100_000
ONE, MANY, BIG, SOAKED = "one-draw", "propensities", "refreshed", "soaked"


@dataclass(frozen=True)
class Size:
    """How long to measure, and with how many servers, one after the other."""

    seconds: float
    starts: int
    rounds: int
    refreshed: int
    soak: int


FULL = Size(seconds=4.0, starts=4, rounds=2, refreshed=REFRESHED, soak=100_000)
QUICK = Size(seconds=1.0, starts=1, rounds=2, refreshed=5_000, soak=5_000)


@dataclass(frozen=True)
class Reading:
    """One measurement of one target."""

    rate: float
    latencies: Any

    @property
    def p99(self) -> float:
        """In milliseconds."""
        return 1e3 * float(np.quantile(self.latencies, 0.99))


class Bench:
    """Two servers and what is sent to them."""

    def __init__(self, folder: Path, url: str, echo: str, cars: CarAdverts) -> None:
        self.client = Client(url, timeout=600.0)
        self.connections = CONNECTIONS
        self._folder = folder
        self._port = int(url.rsplit(":", 1)[1])
        self._echo = int(echo.rsplit(":", 1)[1])
        visitors = cars.visitors(np.random.default_rng(SEED))
        contexts = [next(visitors).context for _ in range(BODIES)]
        self._bodies = [json.dumps({"context": context}) for context in contexts]

    def decisions(self, model: str, seconds: float) -> Reading:
        """Load on a model."""
        return self._load(self._port, f"/v1/models/{model}/decisions", seconds)

    def echoes(self, seconds: float) -> Reading:
        """Load on the echo."""
        return self._load(self._echo, "/echo", seconds)

    def _load(self, port: int, path: str, seconds: float) -> Reading:
        given, found = self._folder / "load.json", self._folder / "latencies.npy"
        plan = {"port": port, "path": path, "bodies": self._bodies, "seconds": seconds}
        given.write_text(json.dumps({**plan, "connections": self.connections}), encoding="utf-8")
        command = [sys.executable, "-m", "studies.service.load", str(given), str(found)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        result = json.loads(done.stdout)
        if result["failures"]:
            raise RuntimeError(f"{result['failures']} requests to {path} failed")
        return Reading(result["rate"], np.load(found))


@contextmanager
def process(*command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server and its address."""
    started = subprocess.Popen(  # noqa: S603
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        line = next(line for line in started.stdout or () if line.startswith("listening on "))
        yield started, line.split()[-1]
    finally:
        started.terminate()
        started.wait()


def world() -> CarAdverts:
    """Adverts and their visitors."""
    rng = np.random.default_rng(SEED)
    return CarAdverts.random(synthetic(ITEMS, rng=rng), candidates=None, rng=rng)


def make_models(client: Client, cars: CarAdverts, size: Size) -> None:
    """One for each question."""
    base = ModelSettings(schema=cars.schema.to_dict(), reward_wait_seconds=86_400.0)
    at_once = RefreshSettings(kind="at", points=[size.refreshed])
    changes_by_name: dict[str, dict[str, Any]] = {
        ONE: {"propensities": "none"},
        MANY: {"propensities": "fast"},
        BIG: {"propensities": "none", "refresh": at_once},
        SOAKED: {"propensities": "fast", "window": 5_000},
    }
    for name, changes in changes_by_name.items():
        client.create_model(name, msgspec.structs.replace(base, **changes))
        client.put_items(name, cars.items)


def impressions(cars: CarAdverts, count: int) -> Iterator[LoggedImpression]:
    """Random adverts and what became of them."""
    rng = np.random.default_rng(SEED + 1)
    for visitor in cars.visitors(np.random.default_rng(SEED + 2)):
        item = str(rng.choice(list(visitor.items)))
        yield LoggedImpression(
            context=dict(visitor.context),
            candidates={item: visitor.items[item]},
            item=item,
            value=float(visitor.clicked(item)),
        )
        count -= 1
        if not count:
            return


class Turn(NamedTuple):
    """What was measured in turn, so that all sides saw the same machine."""

    echo: Reading
    one: Reading
    many: Reading


def turns(bench: Bench, size: Size, connections: int) -> Iterator[Turn]:
    """Load on the echo and on decisions."""
    bench.connections = connections
    bench.decisions(ONE, 1.0), bench.decisions(MANY, 1.0), bench.echoes(1.0)
    for _ in range(size.rounds):
        yield Turn(
            bench.echoes(size.seconds),
            bench.decisions(ONE, size.seconds),
            bench.decisions(MANY, size.seconds),
        )
    bench.connections = CONNECTIONS


def load_claims(measured: Sequence[Turn], connections: int) -> list[Claim]:
    """Rates and latencies beside the echo's."""
    echo, one, many = (list(each) for each in zip(*measured, strict=True))
    asked = f"{connections} connections"
    return [
        _rate(f"decisions with one draw / echo, {asked}", one, echo, 0.5),
        _rate(f"decisions with 256 draws / echo, {asked}", many, echo, 0.35),
        _slowness(f"p99 with one draw / echo's, {asked}", one, echo, 10.0),
        _slowness(f"p99 with 256 draws / echo's, {asked}", many, echo, 10.0),
    ]


def _rate(what: str, ours: Sequence[Reading], echo: Sequence[Reading], least: float) -> Claim:
    ratio = float(np.median([a.rate / b.rate for a, b in zip(ours, echo, strict=True)]))
    a, b = (float(np.median([each.rate for each in side])) for side in (ours, echo))
    return Claim(what, ratio, "at least", least, f"{a:,.0f}/s beside {b:,.0f}/s")


def _slowness(what: str, ours: Sequence[Reading], other: Sequence[Reading], most: float) -> Claim:
    ratio = float(np.median([a.p99 / b.p99 for a, b in zip(ours, other, strict=True)]))
    a, b = (float(np.median([each.p99 for each in side])) for side in (ours, other))
    return Claim(what, ratio, "at most", most, f"{a:.2f} ms beside {b:.2f} ms")


def measure_refresh(bench: Bench, cars: CarAdverts, size: Size) -> Claim:
    """Decisions before and during one refresh of many impressions."""
    lines = [msgspec.json.encode(each) for each in impressions(cars, size.refreshed)]
    for start in range(0, len(lines) - 1, 5_000):
        chunk = lines[start : min(start + 5_000, len(lines) - 1)]
        bench.client.import_log(BIG, b"\n".join(chunk), form="jsonl")
    quiet = bench.decisions(BIG, size.seconds)
    bench.client.import_log(BIG, lines[-1], form="jsonl")
    during, seconds = [], time.monotonic()
    while bench.client.stats(BIG).refreshing:
        during.append(bench.decisions(BIG, 1.0))
    seconds = time.monotonic() - seconds
    if not during:
        raise RuntimeError("the refresh was over before a decision was measured")
    together = Reading(0.0, np.concatenate([each.latencies for each in during[:-1] or during]))
    what = f"p99 during a refresh of {size.refreshed:,} impressions / before"
    detail = f"{together.p99:.2f} ms beside {quiet.p99:.2f} ms; {seconds:.0f} s of refresh"
    return Claim(what, together.p99 / quiet.p99, "at most", 2.0, detail)


def measure_soak(bench: Bench, cars: CarAdverts, size: Size, pid: int) -> Claim:
    """Memory of the server over many decisions and their feedback."""
    readings = []
    done = 0
    visitors = cars.visitors(np.random.default_rng(SEED + 4))
    while done < size.soak:
        done += _soaked(bench.client, visitors, size.soak // 20)
        readings.append(_resident(pid))
    first, last = readings[len(readings) // 4], readings[-1]
    what = f"memory after {done:,} requests / after a quarter of them"
    return Claim(what, last / first, "at most", 1.1, f"{last:,.0f} MB beside {first:,.0f} MB")


def _soaked(client: Client, visitors: Iterator[Visitor], many: int) -> int:
    for _ in range(many // 2):
        visitor = next(visitors)
        decision = client.decide(SOAKED, context=visitor.context)
        client.feedback(SOAKED, decision.decision_id, float(visitor.clicked(decision.item)))
    return many // 2 * 2


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    if found is None:
        raise RuntimeError("the system does not tell how much memory a process has")
    return int(found.group(1)) / 1e3


def measure(size: Size) -> list[Claim]:
    """Everything, with one server process at a time and durable acknowledgements."""
    cars = world()
    measured: dict[int, list[Turn]] = {CONNECTIONS: [], MORE_CONNECTIONS: []}
    for _ in range(size.starts):
        with served(cars, size) as (bench, _):
            for connections in measured:
                measured[connections] += turns(bench, size, connections)
    with served(cars, size) as (bench, pid):
        others = [measure_refresh(bench, cars, size), measure_soak(bench, cars, size, pid)]
    return [*chain.from_iterable(load_claims(measured[c], c) for c in measured), *others]


@contextmanager
def served(cars: CarAdverts, size: Size) -> Iterator[tuple[Bench, int]]:
    """A server and the echo, both new, and the process of the server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ["--port", "0", "--database", str(folder / "load.db"), "--log-level", "warning"]
        with process("-m", "fabcost", "serve", *options) as (server, url):
            with Client(url, timeout=60.0) as client:
                make_models(client, cars, size)
                answer = client.decide(
                    ONE, context=next(cars.visitors(np.random.default_rng(0))).context
                )
            (folder / "answer.json").write_bytes(msgspec.json.encode(answer))
            echo_command = ("-m", "studies.service.echo", str(folder / "answer.json"))
            with process(*echo_command) as (_, echo):
                yield Bench(folder, url, echo, cars), server.pid


def main() -> int:
    """Measure, print, and with ``--docs`` write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.service", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, to see whether it runs")
    parser.add_argument("--docs", action="store_true", help="write measurements/load.md")
    given = parser.parse_args()
    found = measure(QUICK if given.quick else FULL)
    Console().print(claims.as_table(found, quick=given.quick, title="Load on one server"))
    if given.docs:
        write_page("load.md", _page(found))
    return 0 if given.quick or all(claim.holds for claim in found) else 1


def _page(found: list[Claim]) -> str:
    return f"""# Load on one server

{origin("python -m studies.service --docs")}

One server process on SQLite, every decision on disk before it is answered, connections that each
wait for their answer, {ITEMS} items of a catalogue; {CONNECTIONS} connections where it is not said.
With so few the answers to all of them wait for one commit, and nothing is decided meanwhile: more
connections keep the server busy, and share the cost of a commit.  The echo is bare
Starlette and msgspec under the same uvicorn: it decodes the same requests and encodes the same
answers.  All take turns within each round, {FULL.rounds} rounds with each of {FULL.starts} servers
that were started anew, as one start is some hundredths faster than another; what is measured is the
median over rounds of the ratio within a round.  The rates and latencies beside it are medians of
each side, so that their quotient may differ a little.  The client runs beside the servers on the
same machine.

{claims.as_markdown(found)}
"""


if __name__ == "__main__":
    sys.exit(main())
