"""Very many weights, beside other libraries and the full belief: ``python -m studies.wide``."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from operator import itemgetter

import numpy as np
from bayesianbandits import BayesianGLM
from rich.console import Console
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits
from vowpalwabbit import Workspace

from fabcost import Bandit, Recommender, Schema, Wide, WideFabCost
from fabcost.features.items import EncodedItems
from fabcost.inference.wide.learner import VARIANCE
from fabcost.warmup import warm_up
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.timing import as_text, in_turn, median
from studies.wide import middle
from studies.wide.beliefs import CANDIDATES, SMALL, Lines, by_size, distances
from studies.wide.models import (
    BAYESIAN,
    EVERY,
    MODELS,
    OURS,
    VOWPAL,
    VW,
    as_scipy,
    as_texts,
    log_loss,
    ours,
    vowpal,
)
from studies.wide.streams import BITS, FIELDS, Stream, bank_marketing, folded, narrowed, simulated

ROWS, FEWER = 5_000, 2_000
CONTEXT = {"device": "tv", "user": "u-1", "hour": 7}
SLOW_EVERY = 250  # rows between two updates beside a peer to which one takes seconds
TRIED, OTHER_SEEDS = (1.0, 0.5, 0.25, VARIANCE, 0.0625), (10, 11, 12)


#: What each has, by how it learns; refused in words where it cannot be.
HAVE: Lines = [
    ["belief", "weights, counts, fractions", "half-life", "start", "items' own effects", "EP"],
    ["full", "yes", "yes", "by names of columns", "yes", "yes"],
    [
        "wide",
        "yes",
        "yes: all weights age",
        "from a wide one of as many bits: columns have no names, but the same hash",
        "no: an item is a hashed feature",
        "no: it keeps no impressions",
    ],
]


def choices(rows: int) -> Lines:
    """Losses by prior variance, on rows that no claim is about."""
    streams = [bank_marketing(rows, after=k * ROWS) for k in (1, 2, 3)]
    streams += [simulated(seed, rows) for seed in OTHER_SEEDS]
    found = [each for each in streams if each is not None]
    lines = [["model", *[each.name for each in found]]]
    tried = [(OURS, ours, each) for each in TRIED] + [(VOWPAL, vowpal, MODELS[VOWPAL][1][0])]
    for name, make, setting in tried:
        scores = [log_loss(each, make(setting, each.rows.weights)) for each in found]
        lines.append([f"{name}, {setting:g}", *[f"{loss:.4f}" for loss in scores]])
    return lines


def losses(stream: Stream, name: str, every: int) -> list[float]:
    """The log losses of a model in each of its settings."""
    make, settings = {**MODELS, **middle.BELIEFS}[name]
    told = narrowed(stream) if name == BAYESIAN else stream
    return [log_loss(told, make(each, told.rows.weights), every) for each in settings]


def compared(
    stream: Stream, *peers: str, every: int = EVERY, mine: Sequence[str] = (OURS,)
) -> Iterator[Claim]:
    """Log losses of each of mine over those of each peer, both as they come and at their best."""
    found = {name: losses(stream, name, every) for name in (*mine, *peers)}
    rows = f"log loss of {len(stream.y):,} rows, {stream.name}, over that of"
    for name, peer in product(mine, peers):
        settings = ", ".join(
            f"{each:g}: {loss:.4f}" for each, loss in zip(MODELS[peer][1], found[peer], strict=True)
        )
        for what, pick in (("as they come", itemgetter(0)), ("at the best of their settings", min)):
            own, theirs = pick(found[name]), pick(found[peer])
            yield Claim(
                f"{'' if name == OURS else f'{name}: '}{rows} {peer}, {what}",
                own / theirs,
                "at most",
                1.0,
                f"{own:.4f} over {theirs:.4f} ({settings}), learnt after every {every}",
            )


def times(stream: Stream, calls: int, slow_calls: int) -> Iterator[Claim]:
    """Updates and decisions at 2²⁰ weights, each library in turn."""
    learner, weights = WideFabCost(2**BITS), 2**BITS
    learner.observe_many(stream.rows, stream.y)
    bandit, vw = Bandit(learner), Workspace(VW)
    slow = BayesianGLM(alpha=1.0, link="logit", sparse=True)
    slow.partial_fit(as_scipy(stream.rows[np.arange(50)], weights), stream.y[:50])
    pairs = [(r.columns, r.values) for r in (stream.rows[k] for k in range(calls))]
    texts = as_texts(stream.rows[np.arange(calls)])
    row = as_scipy(stream.rows[0], weights)
    few = stream.rows[np.arange(CANDIDATES)]
    matrix, column_matrix, candidate_texts = (
        csr_array((few.values, few.columns, few.starts), few.shape),
        as_scipy(few, weights),
        texts[:CANDIDATES],
    )

    def update() -> None:
        for pair, label in zip(pairs, stream.y, strict=False):
            learner.observe(pair, label)

    def vw_update() -> None:
        for text, label in zip(texts, stream.y, strict=False):
            vw.learn(f"{1 if label else -1} {text}")

    recommender, adverts = _recommender()
    actions: tuple[Callable[[], object], ...] = (
        update,
        vw_update,
        lambda: slow.partial_fit(row, stream.y[:1]),
        lambda: bandit.choose(matrix),  # type: ignore[arg-type]
        lambda: bandit.choose(matrix, draws=256),  # type: ignore[arg-type]
        lambda: [vw.predict(each) for each in candidate_texts],
        lambda: slow.sample(column_matrix),
        lambda: recommender.recommend(CONTEXT, adverts, draws=256),
    )
    for act in actions:
        act()
    seconds = [median(each) for each in in_turn(*actions, repeats=slow_calls).T]
    seconds[0], seconds[1] = seconds[0] / calls, seconds[1] / calls
    mine, vw_one, slow_one, decide, drawn, vw_all, slow_all, records = seconds
    beside = f"{VOWPAL} {as_text(vw_one)}, {BAYESIAN} {as_text(slow_one)}"
    yield Claim("update, 20 non-zeros", 1e6 * mine, "at most", 100.0, beside, unit=" µs")
    beside = f"{VOWPAL} (no draw) {as_text(vw_all)}, {BAYESIAN} (a draw) {as_text(slow_all)}"
    what = f"Thompson over {CANDIDATES} candidates of 20 non-zeros"
    yield Claim(what, 1e3 * decide, "at most", 1.0, beside, unit=" ms")
    what += ", with propensities of 256 draws"
    yield Claim(what, 1e3 * drawn, "at most", 1.0, "", unit=" ms")
    what = f"the same by a `Recommender`, of a catalogue of {CANDIDATES} records"
    told = "a context of 3 features, items of 4, and their crosses"
    yield Claim(what, 1e3 * records, "at most", 1.0, told, unit=" ms")


def _recommender() -> tuple[Recommender, EncodedItems]:
    """One that has learnt from some visitors, and a catalogue."""
    recommender = Recommender(Schema.open(), belief=Wide(bits=BITS), seed=0)
    adverts = recommender.catalogue(
        {
            f"ad-{k}": {"id": f"ad-{k}", "make": f"m-{k % 9}", "age": k % 7, "price": 900.0 + k}
            for k in range(CANDIDATES)
        }
    )
    for k in range(500):
        decision = recommender.recommend({**CONTEXT, "user": f"u-{k % 90}"}, adverts)
        recommender.feedback(decision.id, clicked=k % 3 == 0)
    return recommender, adverts


def as_markdown(lines: Lines) -> str:
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([rows[0], "|---" * len(lines[0]) + "|", *rows[1:]])


def page(found: list[Claim], chosen: Lines, sizes: Lines, lines: Lines, command: str) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Very many weights",
            origin(command),
            f"`WideFabCost` with 2^{BITS} hashed weights, one thread, processor time, libraries in "
            f"turn within one run. Rows have 20 numbers: a constant and {FIELDS} categories, "
            "simulated (3 to 200,000 values by Zipf's law) or those of the public set Bank "
            f"Marketing. All learn after every {EVERY} rows, which were predicted before, or after "
            "more where a peer is slow. "
            f"{BAYESIAN} predicts from the same rows without the columns that none has, which "
            "changes nothing but its time; its times are with all of them, after 50 rows. The full "
            f"belief of {middle.WEIGHTS:,} weights has a prior variance of {VARIANCE:g} for all, "
            f"and its rows, those of the peers beside it too, are hashed into {middle.WEIGHTS:,} "
            f"columns; there {BAYESIAN} learns {SLOW_EVERY - 1} rows at once before each of the "
            "single updates that are timed. "
            f"Settings that were tried: prior variances of {OURS} "
            f"{MODELS[OURS][1]}, of {BAYESIAN} {MODELS[BAYESIAN][1]}, learning rates of {VOWPAL} "
            f"{MODELS[VOWPAL][1]}; the first is the default.",
            claims.as_markdown(found),
            "## Which belief for which number of weights",
            "Up to some 500 weights take the full belief, refined by EP, which a `Recommender` and "
            "the service have unless told otherwise; up to some 2,000 the full one without EP; "
            "beyond, the wide one: `Recommender(schema, belief=fabcost.Wide(bits=20))`, or "
            '`"belief": {"kind": "wide", "bits": 20}` among the settings of a model. Nothing '
            "changes from one to another by itself. Simulated rows of 20 numbers, hashed into so "
            f"many columns, a prior variance of {VARIANCE:g} for all. Losses can be compared "
            "between beliefs, not between numbers of weights: what meets in a column is different.",
            as_markdown(sizes),
            as_markdown(HAVE),
            "## How the default was chosen",
            f"Log losses by the prior variance, here of other rows: {ROWS:,} each of Bank "
            f"Marketing after those above, and of other simulated streams. {VARIANCE:g} is the "
            f"default, and the only setting of {VOWPAL} is its own.",
            as_markdown(chosen),
            f"## Beside the full belief, at {SMALL} weights",
            f"Both by ADF from the same prior and the same rows, simulated, hashed into {SMALL} "
            "columns. Apart are root mean squares in sds of the full belief; ratios are medians.",
            as_markdown(lines),
        ]
    )


def measure(rows: int, calls: int, slow_calls: int) -> Iterator[Claim]:
    stream, real = simulated(0, rows), bank_marketing(rows)
    few, slow = simulated(3, rows, columns=middle.WEIGHTS), min(SLOW_EVERY, rows // 2)
    yield from times(stream, calls, slow_calls)
    yield from compared(stream, VOWPAL)
    yield from compared(stream, BAYESIAN, every=slow)
    yield from middle.calls(rows, slow)
    yield from compared(few, VOWPAL, mine=list(middle.BELIEFS))
    yield from compared(few, BAYESIAN, every=slow, mine=list(middle.BELIEFS))
    if real is not None:
        yield from compared(real, VOWPAL, BAYESIAN)
        few = folded(real, middle.WEIGHTS)
        yield from compared(few, VOWPAL, BAYESIAN, mine=list(middle.BELIEFS))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.wide", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/wide.md")
    given = parser.parse_args()
    start = time.monotonic()
    warm_up()  # so that nothing is compiled while it is timed
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer warns of rows it has not converged on
        rows = 200 if given.quick else ROWS
        found = []
        for claim in measure(rows, *((100, 2) if given.quick else (1_000, 9))):
            found.append(claim)
            print(f"{time.monotonic() - start:.0f} s: {claim.what}", file=sys.stderr, flush=True)
        sizes = by_size(min(rows, FEWER), 2 if given.quick else 9)
        chosen, lines = choices(rows), distances(rows)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=given.quick, title="Very many weights"))
    for table in (sizes, chosen, lines):
        console.print(as_markdown(table))
    console.print(f"{time.monotonic() - start:.0f} s")
    if given.docs:
        written = page(found, chosen, sizes, lines, "python -m studies.wide --docs")
        console.print(f"wrote {write_page('wide.md', written)}")


if __name__ == "__main__":
    main()
