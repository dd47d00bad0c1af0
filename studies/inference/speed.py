"""How fast one update, one visit and one fit are, beside the authors and beside peers."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.linear_model import LogisticRegression

from fabcost import Gaussian
from fabcost.inference import adf, ep, laplace
from fabcost.inference.history import Carried, Sites
from fabcost.paper import printed
from studies.claims import Claim
from studies.inference.workloads import PRIOR_VARIANCE, Sizes, Workload
from studies.timing import as_text, in_turn, median

_AUTHORS_SWEEPS = 2


def adf_beside_authors(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    few = work.first(sizes.authors_updates)
    prior, signed = work.prior, few.signed
    rounds = in_turn(
        lambda: adf.fit(prior, work.X, work.y),
        lambda: printed.density_filtering(prior.mean, prior.covariance, few.X, signed),
        repeats=sizes.repeats,
    )
    ours, theirs = rounds[:, 0] / len(work.y), rounds[:, 1] / len(few.y)
    detail = f"{as_text(median(ours))} against {as_text(median(theirs))}"
    yield Claim(
        "ADF update in a batch, beside the authors' matrices",
        median(theirs / ours),
        "at least",
        100.0,
        detail,
    )


def ep_beside_authors(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    few = work.first(sizes.authors_visits)
    prior, signed = work.prior, few.signed
    # MacKay's EP diverges under the vague prior; the cost of a visit does not depend on it.
    firm = Gaussian.isotropic(prior.dimension)
    sweeps = ep.fit(prior, work.X, work.y).sweeps
    rounds = in_turn(
        lambda: ep.fit(prior, work.X, work.y),
        lambda: printed.expectation_propagation(
            firm.mean, firm.covariance, few.X, signed, sweeps=_AUTHORS_SWEEPS
        ),
        repeats=sizes.repeats,
    )
    ours = rounds[:, 0] / (sweeps * len(work.y))
    theirs = rounds[:, 1] / (_AUTHORS_SWEEPS * len(few.y))
    detail = f"{as_text(median(ours))} against {as_text(median(theirs))} (numpy.linalg.pinv)"
    yield Claim(
        "EP site visit, beside the authors' matrices",
        median(theirs / ours),
        "at least",
        1_500.0,
        detail,
    )


def exact_beside_mackay(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    few = work.first(sizes.warm_rows)
    result, signed = ep.fit(few.prior, few.X, few.y), few.signed

    def sweep(exact: bool) -> None:
        belief = Carried.of(result.posterior)
        given = (belief, few.X, signed, Sites(*(each.copy() for each in result.sites)))
        ep.sweep(*given, exact=exact, tolerance=1.0, max_sweeps=1)

    rounds = in_turn(lambda: sweep(True), lambda: sweep(False), repeats=3 * sizes.repeats)
    exact, mackay = (median(column) / len(signed) for column in rounds.T)
    yield Claim(
        "EP visit with exact moments, over MacKay's",
        median(rounds[:, 0] / rounds[:, 1]),
        "at most",
        2.0,
        f"{as_text(exact)} over {as_text(mackay)}, warm sites",
    )


def ep_beside_fits(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    """EP to convergence over the mode finders on the same rows; the mode has no covariance."""
    prior, X, y = work.prior, work.X, work.y
    mode = LogisticRegression(C=PRIOR_VARIANCE, fit_intercept=False, solver="lbfgs")
    rounds = in_turn(
        lambda: ep.fit(prior, X, y),
        lambda: laplace.fit(prior, X, y),
        lambda: mode.fit(X, y),
        repeats=sizes.repeats,
    )
    refined, expanded, found = (median(column) for column in rounds.T)
    what = f"EP to convergence, {len(y):,} rows, over "
    over_laplace, over_mode = (
        median(rounds[:, 0] / rounds[:, 1]),
        median(rounds[:, 0] / rounds[:, 2]),
    )
    detail = f"{as_text(refined)} over {as_text(expanded)}"
    yield Claim(what + "our Laplace", over_laplace, "at most", 1.0, detail)
    detail = f"{as_text(refined)} over {as_text(found)} (lbfgs)"
    yield Claim(what + "scikit-learn", over_mode, "at most", 3.0, detail)
