"""Sparse rows beside dense ones, with the full belief: ``python -m studies.sparse``."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, get_args

import numpy as np
from rich.console import Console
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fabcost import BayesianLogisticRegression, Gaussian, Refresh, kernels
from fabcost.impressions import FloatArray
from fabcost.inference.history import Carried, History, Pass, Sites
from fabcost.inference.sparse.covariance import CovarianceSweep
from fabcost.sparse import SparseRows, as_sparse
from fabcost.training import Inference
from fabcost.warmup import warm_up
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.inference.one_hot import BLOCKS, LEVELS, seconds_at, seconds_here
from studies.inference.one_hot import one_hot as one_hot_rows
from studies.timing import as_text, in_turn, log_log_slope, median

ROWS = 20_000
BEFORE = "cc7625c50"  # the last commit without weights and sparse rows
FASTER = 10.0
APART = 1e-10
REPEATS = 5
#: These see each row once, or again on a schedule.
STREAM = "'fab-cost' as a stream"
SINGLE_PASSES = ("'adf'", STREAM)


class Data(NamedTuple):
    """One-hot blocks, dense and sparse, and clicks."""

    X: FloatArray
    rows: SparseRows
    y: FloatArray


def one_hot(rows: int, blocks: int, levels: int) -> Data:
    """One-hot rows, both ways."""
    X, y = one_hot_rows(rows, blocks, levels)
    return Data(X, as_sparse(X, X.shape[1]), y)


def apart(found: Gaussian, expected: Gaussian) -> float:
    """The largest difference of means in sds, and of covariances as if all sds were one."""
    sd = expected.sd
    means = np.abs(found.mean - expected.mean) / sd
    covariances = np.abs(found.covariance - expected.covariance) / np.outer(sd, sd)
    return float(max(means.max(), covariances.max()))


class Fit(NamedTuple):
    """The classifier on the same rows: dense at an earlier commit, dense and sparse now."""

    name: str
    before: float
    dense: float
    sparse: float
    iterations: str
    apart: float

    @property
    def faster(self) -> float:
        """How many times as fast as before."""
        return self.before / self.sparse

    @property
    def detail(self) -> str:
        """Its times."""
        return (
            f"{as_text(self.before)} before, {as_text(self.dense)} dense now, "
            f"{as_text(self.sparse)} sparse: {self.dense / self.sparse:.3g}× dense now; "
            f"{self.iterations} sweeps or steps at last"
        )

    def claims(self, size: str) -> Iterator[Claim]:
        """What was asked of it."""
        what = f"`fit` with {self.name}, {size} one-hot"
        if self.name not in SINGLE_PASSES:
            title = f"{what}, dense before over sparse"
            yield Claim(title, self.faster, "at least", FASTER, self.detail)
        title = f"{what}: dense and sparse posteriors apart, in sds"
        yield Claim(title, self.apart, "at most", APART, "", unit="")


def fits(data: Data, before: dict[str, float]) -> Iterator[Fit]:
    """All ways of inference, and the stream."""
    matrix = csr_array((data.rows.values, data.rows.columns, data.rows.starts), data.X.shape)
    ways: list[tuple[Inference, Refresh | None]] = [(each, None) for each in get_args(Inference)]
    for inference, schedule in [*ways, ("fab-cost", Refresh.geometric())]:
        dense = BayesianLogisticRegression(inference=inference, refresh=schedule)
        sparse, few = clone(dense), slice(0, 500)
        for model, rows in ((dense, data.X), (sparse, matrix)):
            model.fit(rows[few], data.y[few])
        start = time.process_time()
        dense.fit(data.X, data.y)
        now = time.process_time() - start
        after = median(in_turn(partial(sparse.fit, matrix, data.y), repeats=3)[:, 0])
        yield Fit(
            f"{inference!r}" if schedule is None else STREAM,
            before[inference],
            now,
            after,
            f"{dense.n_iter_} and {sparse.n_iter_}",
            apart(sparse.posterior_, dense.posterior_),
        )


def single_passes(found: Iterable[Fit]) -> str:
    """Those that go through the rows one after the other, of which ten times was not asked."""
    lines = ["| `fit` with | before over sparse | detail |", "|---|---:|---|"]
    lines += [
        f"| {fit.name} | {fit.faster:.3g}× | {fit.detail} |"
        for fit in found
        if fit.name in SINGLE_PASSES
    ]
    return "\n".join(lines)


def memory(data: Data) -> Iterator[Claim]:
    """Bytes that a history takes for a row."""
    rows, weights = data.X.shape
    dense, sparse = History(weights, None), History(weights, None)
    compact = History(weights, None, compact=True)
    for history, given in ((dense, data.X), (sparse, data.rows), (compact, data.X)):
        for start in range(0, rows, 50):
            some = slice(start, start + min(50, history.room(), rows - start))
            while some.start < min(start + 50, rows):
                many = some.stop - some.start
                history.append(given[some], data.y[some], many)
                some = slice(some.stop, min(some.stop + history.room(), start + 50, rows))
    non_zeros = data.rows.values.size / rows
    for history, how in ((sparse, "sparse"), (compact, "dense, as encoders do")):
        store = history.rows.sparse
        held = history.rows.X.nbytes + (0 if store is None else store.nbytes)
        yield Claim(
            f"bytes of a row in the history, given {how}, over 16 for each non-zero",
            held / rows / (16.0 * non_zeros),
            "at most",
            4.0,
            f"{held / rows:,.0f} bytes for {non_zeros:g} non-zeros of {weights}; "
            f"with zeros {dense.rows.X.nbytes / rows:,.0f}; arrays grow by doubling",
        )


def bounds(data: Data, before: float) -> str:
    """What a stream cannot take less than, whatever a visit's other work costs."""
    rows, weights = data.X.shape
    schedule, seen, visits = Refresh.geometric(), 0, 0
    while (due := schedule.next_after(seen)) is not None and due <= rows:
        seen, visits = due, visits + (due if due >= weights else 0)
    some = np.asfortranarray(data.X[:1000].T + 1.0)
    product = median(in_turn(partial(dsyrk, 1.0, some), repeats=REPEATS)[:, 0])
    filtered = median(in_turn(_filter(data), repeats=3)[:, 0])
    least = filtered + visits / some.shape[1] * product
    reach = before / least
    alone = (
        "in reach of such products alone, not of loops that keep their order and their rounding on "
        "every processor"
    )
    verdict = "out of reach" if reach < FASTER else alone
    return (
        f"Once rows are as many as weights the stream makes {visits / rows:.3g} visits for each "
        f"row: {visits * weights * weights / 2:.3g} multiplications and as many additions, which "
        "cannot be left out as long as each visit sees what the one before it changed, and the "
        f"posterior of dense rows, to {APART:g}, is that of these visits. As many multiplications "
        "as products of whole matrices, by dsyrk of OpenBLAS, whose bits depend on the processor, "
        f"take {as_text(visits / some.shape[1] * product)}; the pass of ADF before them takes "
        f"{as_text(filtered)}. A stream of no more than these would be {reach:.3g} times as fast "
        f"as that of before: ten times is {verdict}. `fit` does without these visits, since it "
        "matches all sites at once."
    )


class Slope(NamedTuple):
    """How the time of a loop grows with one size, and is designed to."""

    what: str
    by: str
    sizes: Sequence[int]
    designed: str
    seconds: list[float]
    plain: list[float] | None

    @property
    def line(self) -> str:
        """A row of the table."""
        found = log_log_slope(self.sizes, self.seconds)
        span = f"{self.sizes[0]:,} to {self.sizes[-1]:,}"
        times = f"{as_text(self.seconds[0])} to {as_text(self.seconds[-1])}"
        plain = "" if self.plain is None else f"{log_log_slope(self.sizes, self.plain):.2f}"
        cells = (self.what, f"{self.by}, {span}", f"{found:.2f}", self.designed, plain, times)
        return f"| {' | '.join(cells)} |"


MARGINALS = "marginals, for predictions"
AT_ONCE = "a sweep of EP, sites at once, without factorising"
Act = Callable[[Data], Callable[[], object]]


def _belief(data: Data) -> Carried:
    return Carried.of(Gaussian.isotropic(data.X.shape[1]))


def _marginals(data: Data) -> Callable[[], object]:
    belief = Gaussian.isotropic(data.X.shape[1])
    return lambda: belief.marginal(data.rows)


def _filter(data: Data) -> Callable[[], object]:
    many = len(data.y)
    return lambda: kernels.sparse_adf_pass(
        *_belief(data),
        *data.rows.arrays,
        data.y,
        *Sites.flat(many),
        0,
        many,
        True,
        kernels.NO_COUNTS,
    )


def _sweep(data: Data) -> Callable[[], object]:
    def sweep() -> None:
        belief, sites = _belief(data), Sites.flat(len(data.y))
        over = Pass(data.rows, data.y, sites, 0, len(data.y))
        CovarianceSweep(belief, sites).go_on(belief, over, None, exact=True)

    return sweep


def _match(data: Data) -> Callable[[], object]:
    mean, covariance = np.zeros(data.X.shape[1]), np.eye(data.X.shape[1])
    return lambda: kernels.sparse_match(
        mean,
        covariance,
        *data.rows.arrays,
        data.y,
        *Sites.flat(len(data.y)),
        True,
        kernels.NO_COUNTS,
    )


def _gram(data: Data) -> Callable[[], object]:
    return lambda: kernels.sparse_gram(*data.rows.arrays, np.ones(len(data.y)), data.X.shape[1])


def _product(data: Data) -> Callable[[], object]:
    """The rows of the root that marginals read, by the sparse product of scipy."""
    rows, root = data.rows, np.eye(data.X.shape[1])
    matrix = csr_array((rows.values, rows.columns, rows.starts), data.X.shape)
    return lambda: matrix @ root


def _gather(data: Data) -> Callable[[], object]:
    """The covariances that a site at once reads, and nothing but them."""
    columns, flat = data.rows.columns.reshape(len(data.y), -1), np.eye(data.X.shape[1]).ravel()
    p, q = np.tril_indices(columns.shape[1])
    places = (columns[:, p] * data.X.shape[1] + columns[:, q]).ravel()
    return lambda: flat.take(places)


#: By loops: plain passes over the same memory, in which a slope of caches shows as well.
PLAIN: dict[str, Act] = {MARGINALS: _product, AT_ONCE: _gather}

#: Loops, and exponents of non-zeros, weights and rows that they are designed for.
LOOPS: dict[str, tuple[Act, tuple[str, str, str]]] = {
    MARGINALS: (_marginals, ("1", "1", "1")),
    "ADF": (_filter, ("0 to 1", "2", "1")),
    "a sweep of EP, one visit after the other": (_sweep, ("0 to 1", "2 to 3", "0 to 1")),
    AT_ONCE: (_match, ("0 to 2", "0", "1")),
    "Gram matrix, for Laplace and EP at once": (_gram, ("2", "0 to 2", "1")),
}


def slopes(rows: int) -> Iterator[Slope]:
    """Each loop with one size growing, 20 non-zeros of 400 and ``rows`` else."""
    ways: tuple[tuple[str, tuple[int, ...], Callable[[int], Data]], ...] = (
        ("non-zeros", (10, 20, 40, 80), lambda size: one_hot(rows, size, 400 // size)),
        ("weights", (200, 400, 800), lambda size: one_hot(rows, 20, size // 20)),
        ("rows", (rows, 2 * rows, 4 * rows), lambda size: one_hot(size, 20, 20)),
    )
    for place, (by, sizes, make) in enumerate(ways):
        sets = [make(size) for size in sizes]
        for what, (act, designed) in LOOPS.items():
            seconds = _fastest(act, sets)
            plain = _fastest(PLAIN[what], sets) if what in PLAIN else None
            yield Slope(what, by, sizes, designed[place], seconds, plain)


def _fastest(act: Act, sets: Sequence[Data]) -> list[float]:
    actions = [act(data) for data in sets]
    for action in actions:
        action()
    return [float(column.min()) for column in in_turn(*actions, repeats=REPEATS).T]


def page(found: list[Claim], passes: str, bound: str, lines: list[str]) -> str:
    """The page of the documentation."""
    header = [
        "| loop | growing | slope | designed | plain pass | seconds |",
        "|---|---|---:|---:|---:|---|",
    ]
    return "\n\n".join(
        [
            "# Sparse rows",
            origin("python -m studies.sparse --docs"),
            "The full belief, with all covariances, on rows that are given dense and by their "
            "non-zeros: the same numbers, in one run, processor time, one thread. *Before* is "
            f"commit `{BEFORE}`, the last without sparse rows, which had to take them dense; it is "
            "what ten times is asked of, and is measured here again. Sparse rows "
            "change nothing in ADF and in predictions, whose bits are those of dense rows. EP that "
            "is to sweep until nothing moves matches all sites at once and makes the belief anew "
            "of them. So does `fit` with 'fab-cost', which has all rows; before, it went through "
            "them on its schedule. As a stream it still does, with `refresh=Refresh.geometric()` "
            "and in `FabCost.observe_many`: a refresh there makes the same "
            "visits in the same order, with the covariance in place of its root once rows are as "
            "many as weights: D²/2 multiplications for a visit. Ten times was asked of fits that "
            "took 19 to 22 s then, on another machine: those that come back to every row until "
            "nothing moves. What goes through rows one after the other is "
            "[below](#what-goes-through-rows-one-after-the-other), and does not reach it. From "
            "256 weights on a `FabCost` keeps rows by their non-zeros if these are at most an "
            "eighth of the numbers, however rows are given, with the bits of dense ones: so do a "
            "`Recommender` and a service with what their schemas encode.",
            claims.as_markdown(found),
            "## What goes through rows one after the other",
            "One pass of ADF has D² multiplications for a row, sparse or not, and so has every "
            "visit of a stream.",
            passes,
            bound,
            "## How time grows",
            "Slopes on logarithmic axes, of the fastest of "
            f"{REPEATS} rounds, one size growing and the others fixed. Where a part that does not "
            "grow has a share in the time, the slope is below that part's own. A *plain pass* "
            "reads the same numbers and does little else: a product of `scipy.sparse` "
            "for the marginals, and numpy's `take` of the covariances for sites at once. What it "
            "is above the design by is the caches' part: a root or a covariance of 800 weights "
            "has 5 MB. A Gram matrix has D² numbers, whatever the rows have.",
            "\n".join([*header, *lines]),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.sparse", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/sparse.md")
    given = parser.parse_args()
    start, console = time.monotonic(), Console(width=None if sys.stdout.isatty() else 140)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up()
        rows = 600 if given.quick else ROWS
        data = one_hot(rows, BLOCKS, LEVELS)
        before = seconds_here(rows) if given.quick else seconds_at(BEFORE, rows)
        fitted = list(fits(data, before))
        size, passes = f"{rows:,} × {data.X.shape[1]}", single_passes(fitted)
        found = [claim for fit in fitted for claim in fit.claims(size)] + [*memory(data)]
        console.print(claims.as_table(found, quick=given.quick, title="Sparse rows"))
        console.print(passes)
        bound = bounds(data, before["fab-cost"])
        console.print(bound)
        lines = [slope.line for slope in slopes(100 if given.quick else 2_000)]
    console.print("\n".join(lines))
    console.print(f"{time.monotonic() - start:.0f} s")
    if given.docs:
        console.print(f"wrote {write_page('sparse.md', page(found, passes, bound, lines))}")


if __name__ == "__main__":
    main()
