"""What the fast path for decisions earns: ``python -m studies.service.fastpath``.

Two servers, one without it, take turns under the load of `studies.service`.  The time of the
server's processor for a decision is told too: it hardly depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabcost.client import Client
from studies.service.__main__ import MANY, ONE, QUICK, Bench, make_models, process, world

_WITHOUT = "--without"
_TICKS = os.sysconf("SC_CLK_TCK")


class Turn(NamedTuple):
    """Decisions per second, and microseconds of the server's processor for each."""

    rate: float
    microseconds: float


def serve(arguments: list[str]) -> None:
    """``fabcost serve``, with or without the fast path."""
    from fabcost.__main__ import main as fabcost  # noqa: PLC0415
    from fabcost.service import server  # noqa: PLC0415
    from fabcost.service.http.protocol import GuardedProtocol  # noqa: PLC0415

    def guarded(**keywords: Any) -> GuardedProtocol:
        del keywords["application"]
        return GuardedProtocol(**keywords)

    if _WITHOUT in arguments:
        arguments.remove(_WITHOUT)
        vars(server)["FastProtocol"] = guarded
    sys.argv = ["fabcost", "serve", *arguments]
    fabcost()


def turn(bench: Bench, model: str, seconds: float, pid: int) -> Turn:
    """One measurement of one server."""
    before = _processor(pid)
    found = bench.decisions(model, seconds)
    used = _processor(pid) - before
    return Turn(found.rate, 1e6 * used / len(found.latencies))


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measure(rounds: int, seconds: float) -> None:
    """Print rates, processor times and their ratios."""
    cars = world()
    sides: tuple[list[str], ...] = ([], [_WITHOUT])
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = []
        for number, side in enumerate(sides):
            options = ["--port", "0", "--database", f"{folder}/{number}.db"]
            command = ["-m", "studies.service.fastpath", "serve", *side, *options]
            server, url = stack.enter_context(process(*command, "--log-level", "warning"))
            with Client(url, timeout=60.0) as client:
                make_models(client, cars, QUICK)
            servers.append((server.pid, Bench(Path(folder), url, url, cars)))
        for model in (ONE, MANY):
            turns = [
                [turn(bench, model, seconds, pid) for pid, bench in servers]
                for _ in range(rounds + 1)
            ]
            _report(model, np.array(turns[1:]))


def _report(model: str, turns: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    (fast, spent), (plain, spent_plain) = np.median(turns, axis=0)
    ratios = turns[:, 0] / turns[:, 1]
    low, rate, high = np.quantile(ratios[:, 0], [0.25, 0.5, 0.75])
    print(
        f"{model}: {fast:,.0f}/s beside {plain:,.0f}/s, {rate:.2f} times as many "
        f"(quartiles {low:.2f} and {high:.2f}); {spent:.0f} us of processor beside "
        f"{spent_plain:.0f}, {np.median(ratios[:, 1]):.2f} of it"
    )


def main() -> None:
    """Measure, or serve."""
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.5)
    given = parser.parse_args()
    measure(given.rounds, given.seconds)


if __name__ == "__main__":
    main()
