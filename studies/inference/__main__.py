"""Measure every claim about the speed of inference: ``python -m studies.inference``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from fabcost import FabCost
from fabcost.inference import adf, ep, laplace
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.inference import footprint, online, scaling, speed
from studies.inference.workloads import FULL, QUICK, Sizes, cold_start

Measurement = tuple[str, Callable[[], Iterable[Claim]]]


def measurements(sizes: Sizes) -> list[Measurement]:
    """All parts of the report, in its order, on the same impressions."""
    work = cold_start(sizes.rows)
    return [
        ("ADF beside the authors", lambda: speed.adf_beside_authors(work, sizes)),
        ("EP beside the authors", lambda: speed.ep_beside_authors(work, sizes)),
        ("exact beside MacKay", lambda: speed.exact_beside_mackay(work, sizes)),
        ("EP beside other fits", lambda: speed.ep_beside_fits(work, sizes)),
        ("observe beside a peer", lambda: online.observe_beside_peer(work, sizes)),
        ("growth with weights", lambda: scaling.slopes_in_weights(sizes)),
        ("growth with impressions", lambda: scaling.slopes_in_impressions(work, sizes)),
        ("whole streams", lambda: online.streams_beside_adf(work, sizes)),
        ("memory", lambda: footprint.peak_memory(work)),
        ("import", footprint.import_time),
    ]


def measure(sizes: Sizes, console: Console) -> list[Claim]:
    """Run everything on one thread, saying each result as it comes."""
    found: list[Claim] = []
    with _progress(console) as progress, threadpool_limits(1):
        task = progress.add_task("compiling and making data", total=None)
        warm_up()
        parts = measurements(sizes)
        for done, (name, run) in enumerate(parts):
            progress.update(task, description=name, total=len(parts), completed=done)
            for claim in run():
                found.append(claim)
                console.print(f"{claim.what}: {claim.measured_text} ({claim.required_text})")
        progress.update(task, description="done", completed=len(parts))
    return found


def warm_up() -> None:
    """Compile every kernel and touch every code path once."""
    work = cold_start(200)
    for moments in ("exact", "mackay"):
        adf.fit(work.prior, work.X, work.y, moments=moments)
        ep.fit(work.prior, work.X, work.y, moments=moments, max_sweeps=2)
    laplace.fit(work.prior, work.X, work.y)
    FabCost(work.prior).observe_many(work.X, work.y)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.inference", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/speed.md")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the results here")
    return parser.parse_args()


def page(found: list[Claim]) -> str:
    """The page of the documentation."""
    parts = [
        "# Speed of inference",
        origin("python -m studies.inference"),
        "One thread, 15 weights, a stream with 5 % of clicks, prior variance 100; both sides of a "
        "ratio in turns within one run. The authors' side is the paper's matrix algorithms in "
        "NumPy, EP with pseudo-inverses as in their notebooks.",
        claims.as_markdown(found),
    ]
    return "\n\n".join(parts)


def main() -> None:
    arguments = _arguments()
    found = measure(QUICK if arguments.quick else FULL, Console(stderr=True))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=arguments.quick))
    missed = [claim.what for claim in found if not claim.holds]
    console.print(f"{len(found) - len(missed)} of {len(found)} hold")
    for what in missed:
        console.print(f"does not hold: {what}")
    if arguments.out is not None:
        claims.write(arguments.out, found, quick=arguments.quick)
    if arguments.docs:
        console.print(f"wrote {write_page('speed.md', page(found))}")


if __name__ == "__main__":
    main()
