"""The errata of the paper and of the notebooks published with it: one list for page and report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fabcost.paper.engine.units import Result
from fabcost.paper.errata import demonstrations

HEADING = ("Erratum", "Printed", "Right", "How it shows", "What it changes", "Test")


class Erratum(NamedTuple):
    """One error: what is printed or programmed, what is right, and what the difference makes."""

    number: int
    title: str
    printed: str
    right: str
    found: str  # by which check, so that it can be found again
    changes: Callable[[], object]  # the demonstration, whose result says what it showed
    test: str  # that demonstrates it


ERRATA = (
    Erratum(
        number=1,
        title="The factor in B",
        printed="Equation 16 has 1/κ² in B.",
        right="κ², which the derivative of log Z gives and the notebooks use; so does "
        'moments="mackay" here.',
        found="Finite differences of MacKay's log Z disagree with the printed B and agree with κ².",
        changes=demonstrations.factor_in_b,
        test="test_erratum_1_the_derivative_has_kappa_squared",
    ),
    Erratum(
        number=2,
        title="Labels",
        printed="The outcomes are introduced as 0 and 1, which equation 3 needs.",
        right="The sites σ(yθᵀx) need −1 and +1. Here either is accepted, and −1/+1 is computed "
        "with.",
        found="With y = 0 in equation 16 both α and B are zero, so a non-click changes nothing.",
        changes=demonstrations.labels,
        test="test_erratum_2_zeros_tell_nothing",
    ),
    Erratum(
        number=3,
        title="The prior in EP",
        printed="The notebooks' EP has no factor for the prior: every site begins as a copy of "
        "it, and what is replaced is gone.",
        right="Algorithm 3 begins with q = N(μ₀, Σ₀). The prior is a fixed factor here, and sites "
        "begin flat.",
        found="After one sweep every site has rank one, and two different priors lead to the same "
        "posterior.",
        changes=demonstrations.prior_in_ep,
        test="test_erratum_3_a_prior_spread_over_the_sites_vanishes",
    ),
    Erratum(
        number=4,
        title="The Laplace baseline",
        printed="The notebooks' Laplace bandit passes its fitted precision on as the next prior "
        "precision, and refits all rows around a mean of zero: rows are counted again at every "
        "round.",
        right="Either all rows with the first prior, or the new rows with the last posterior. "
        "Both are here (fabcost.inference.laplace.fit and fit_online), and so is the published "
        "one (fit_as_published), for reproduction only.",
        found="The precision grows with the square of the number of impressions; it should grow in "
        "proportion.",
        changes=demonstrations.runaway,
        test="test_erratum_4_the_published_precision_runs_away",
    ),
    Erratum(
        number=5,
        title="Widths in the posterior plots",
        printed="For Laplace the notebooks plot 1/√H_jj, the sd of a weight given all others.",
        right="The marginal sd √(H⁻¹)_jj, which is never smaller; fabcost.gaussian.Gaussian.sd "
        "is this one for every method.",
        found="The two widths are computed from the same Hessian and compared.",
        changes=demonstrations.widths,
        test="test_erratum_5_conditional_widths_are_too_small",
    ),
    Erratum(
        number=6,
        title="Ties",
        printed="The notebooks' argmax over the pool takes the lowest index among equal scores.",
        right="Ties are decided at random (fabcost.bandit.pool.pool.Pool), so that the order of "
        "the log tells nothing.",
        found="On a log sorted by outcome, with features that tell nothing about it, a policy has "
        "more clicks than chance allows.",
        changes=demonstrations.ties,
        test="test_erratum_6_ties_on_a_sorted_log_leak_the_labels",
    ),
    Erratum(
        number=7,
        title="The newest impression",
        printed="The notebooks' Laplace fit uses rows [0:t] after writing row t: it is one "
        "impression behind.",
        right="All rows, [0:t+1]; fabcost.inference.laplace.fit uses what it is given. The lag is "
        "kept in fit_as_published.",
        found="Turning the newest outcome round leaves the fit as it was.",
        changes=demonstrations.newest,
        test="test_erratum_7_the_newest_outcome_is_left_out",
    ),
)


def rows() -> list[tuple[str, ...]]:
    """The errata as rows under `HEADING`, for the report; runs the demonstrations.

    Examples
    --------
    >>> [row[0] for row in rows()][:2]
    ['1. The factor in B', '2. Labels']
    """
    return [
        (
            f"{each.number}. {each.title}",
            each.printed,
            each.right,
            each.found,
            str(each.changes()),
            each.test,
        )
        for each in ERRATA
    ]


def demonstrate() -> Result:
    """The rows as the result of a unit."""
    return {"rows": rows()}
